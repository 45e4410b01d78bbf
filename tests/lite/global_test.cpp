// SPDX-License-Identifier: Apache-2.0
#include "lite/global.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "libmge/base/log.h"
#include "libmge/base/version.h"
#include "libmge/device/device.h"
#include "tests/lite/lite_error.h"

namespace lite {
namespace {

using test::error_of;
using testing::HasSubstr;

TEST(Version, IsThreeNumbers) {
    int major = -1, minor = -1, patch = -1;
    get_version(major, minor, patch);
    EXPECT_EQ(mge::text(major, '.', minor, '.', patch), mge::version);
}

// Restores the level for other tests.
class LogLevels : public testing::Test {
protected:
    std::string lines_at(LiteLogLevel level) {
        set_log_level(level);
        EXPECT_EQ(get_log_level(), level);
        testing::internal::CaptureStderr();
        mge::log_message(mge::LogLevel::debug, "a detail");
        mge::log_message(mge::LogLevel::info, "a fact");
        mge::log_warning(mge::text("a doubt at level ", int(level)));
        mge::log_message(mge::LogLevel::error, "a fault");
        mge::log_line(mge::LogChannel::passes, "a pass");
        return testing::internal::GetCapturedStderr();
    }
    void TearDown() override { set_log_level(LiteLogLevel::WARN); }
};

TEST_F(LogLevels, ChooseTheLines) {
    ::unsetenv("MGE_LOG");
    EXPECT_EQ(
        lines_at(DEBUG),
        "mge: debug: a detail\nmge: info: a fact\nmge: warning: a doubt at level 0\nmge: error: a fault\n"
        "[passes] a pass\n");
    EXPECT_EQ(lines_at(INFO), "mge: info: a fact\nmge: warning: a doubt at level 1\nmge: error: a fault\n");
    EXPECT_EQ(lines_at(WARN), "mge: warning: a doubt at level 2\nmge: error: a fault\n");
    EXPECT_EQ(lines_at(ERROR), "mge: error: a fault\n");
    EXPECT_THAT(error_of([] { set_log_level(LiteLogLevel(4)); }), HasSubstr("0 (DEBUG) to 3 (ERROR)"));
    EXPECT_NE(error_of([] { set_log_level(LiteLogLevel(-1)); }), "");
}

// A warning that was not shown is shown when the level allows it.
TEST_F(LogLevels, HiddenWarningsAreNotSpent) {
    set_log_level(ERROR);
    mge::log_warning("a hidden doubt");
    set_log_level(WARN);
    testing::internal::CaptureStderr();
    mge::log_warning("a hidden doubt");
    mge::log_warning("a hidden doubt");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "mge: warning: a hidden doubt\n");
}

// In a separate process, where no level is set.
TEST(LogLevelDeathTest, DefaultOfLiteIsError) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            bool was_warning = mge::log_level() == mge::LogLevel::warning;
            bool is_error = get_log_level() == ERROR && mge::log_level() == mge::LogLevel::error;
            std::_Exit(was_warning && is_error ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
    EXPECT_EXIT(
        {
            mge::set_default_log_level(mge::LogLevel::info);
            bool stays = get_log_level() == INFO;
            mge::set_log_level(mge::LogLevel::debug);
            std::_Exit(stays && get_log_level() == DEBUG ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
}

TEST(Devices, AreCounted) {
    EXPECT_GE(get_device_count(LITE_CPU), 1u);
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    get_device_count(LITE_CUDA);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    for (auto type : {LITE_ATLAS, LITE_NPU, LITE_CAMBRICON}) EXPECT_EQ(get_device_count(type), 0u);
    EXPECT_NE(error_of([] { get_device_count(LiteDeviceType(2)); }), "");
}

TEST(Memory, CachedMemoryIsReleased) {
    for (const char* name : {"cpu0", "cpu5"}) {
        auto id = mge::parse_device(name);
        mge::TensorSpec spec{mge::DType::f32, {1 << 22}, {}};
        auto kept = mge::tensor_from_host(spec, std::vector<float>(1 << 22, 2).data(), id);
        mge::empty_tensor(spec, id);
        EXPECT_GT(mge::device(id).memory().reserved, mge::device(id).memory().allocated + (8 << 20)) << name;
        EXPECT_TRUE(try_coalesce_all_free_memory());
        auto memory = mge::device(id).memory();
        EXPECT_LE(memory.reserved - memory.allocated, size_t(1) << 20) << name;
        EXPECT_EQ(static_cast<const float*>(kept.data())[1 << 21], 2);
    }
}

TEST(TensorRt, IsMissing) {
    EXPECT_THAT(error_of([] { set_tensor_rt_cache("a"); }), HasSubstr("no TensorRT"));
    EXPECT_THAT(error_of([] { dump_tensor_rt_cache(); }), HasSubstr("no TensorRT"));
}

TEST(MemoryPairs, AreFoundByRange) {
    char memory[64];
    void* physical = reinterpret_cast<void*>(0x1000);
    EXPECT_TRUE(register_memory_pair(memory + 16, physical, 16, LITE_CUDA));
    EXPECT_EQ(lookup_physic_ptr(memory + 16, LITE_CUDA), physical);
    EXPECT_EQ(lookup_physic_ptr(memory + 31, LITE_CUDA), reinterpret_cast<void*>(0x100f));
    for (char* outside : {memory, memory + 15, memory + 32})
        EXPECT_THAT(error_of([&] { lookup_physic_ptr(outside, LITE_CUDA); }),
                    HasSubstr("not in a registered"));
    EXPECT_NE(error_of([&] { lookup_physic_ptr(memory + 16, LITE_CPU); }), "");

    for (auto [at, bytes] : {std::pair{16, 16}, {31, 1}, {0, 17}, {0, 64}, {20, 2}, {31, 30}})
        EXPECT_THAT(error_of([&, at = at, bytes = bytes] {
                        register_memory_pair(memory + at, physical, size_t(bytes), LITE_CUDA);
                    }),
                    HasSubstr("overlap"))
            << at;
    register_memory_pair(memory, physical, 16, LITE_CUDA);
    register_memory_pair(memory + 32, physical, 32, LITE_CUDA);
    register_memory_pair(memory + 20, physical, 2, LITE_CPU);
    for (auto [address, bytes] : {std::pair<void*, size_t>{nullptr, 4}, {memory, 0}, {memory + 1, SIZE_MAX}})
        EXPECT_NE(error_of([&, address = address, bytes = bytes] {
                      register_memory_pair(address, physical, bytes, LITE_ATLAS);
                  }),
                  "");
    EXPECT_NE(error_of([&] { register_memory_pair(memory, physical, 1, LITE_NPU, LiteBackend(1)); }), "");

    EXPECT_NE(error_of([&] { clear_memory_pair(memory + 16, memory, LITE_CUDA); }), "");
    EXPECT_NE(error_of([&] { clear_memory_pair(memory + 17, physical, LITE_CUDA); }), "");
    EXPECT_TRUE(clear_memory_pair(memory + 16, physical, LITE_CUDA));
    EXPECT_NE(error_of([&] { lookup_physic_ptr(memory + 16, LITE_CUDA); }), "");
    EXPECT_EQ(lookup_physic_ptr(memory + 33, LITE_CUDA), reinterpret_cast<void*>(0x1001));
}

}  // namespace
}  // namespace lite
