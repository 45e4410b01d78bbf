// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/onednn/copy_blocked.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "libmge/kernel/cpu/onednn/primitive.h"

namespace mge::onednn {
namespace {

using Dims = std::vector<int64_t>;

void reorder(const MemoryDesc& from, void* source, const MemoryDesc& to, void* target) {
    dnnl_memory_t in, out;
    check(dnnl_memory_create(&in, from.get(), engine(), source), "dnnl_memory_create");
    check(dnnl_memory_create(&out, to.get(), engine(), target), "dnnl_memory_create");
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, in}, {DNNL_ARG_TO, out}};
    check(dnnl_primitive_execute(make_reorder(from, to).get(), stream(), 2, arguments), "execute");
    dnnl_memory_destroy(in);
    dnnl_memory_destroy(out);
}

void expect_as_reorder(const Dims& dims, dnnl_format_tag_t from_tag, dnnl_format_tag_t to_tag,
                       dnnl_data_type_t type = dnnl_f32) {
    auto from = tagged(dims, from_tag, type), to = tagged(dims, to_tag, type);
    auto words = [](const MemoryDesc& desc) { return (desc.bytes() + 3) / 4; };
    std::vector<int32_t> plain(words(from));
    for (size_t i = 0; i < plain.size(); ++i) {
        // Small numbers in either type; normal ones, because reorders of bf16 with AVX2 clear the others.
        auto value = float(i + 1);
        if (type == dnnl_f32)
            std::memcpy(&plain[i], &value, 4);
        else
            plain[i] = type == dnnl_bf16 ? int32_t(0x3f803f80 + i * 0x10001) : int32_t(i + 1);
    }
    // Elements that are not written must not be zero before.
    std::vector<int32_t> expected(words(to), -1), got(words(to), -1);
    reorder(from, plain.data(), to, expected.data());
    ASSERT_TRUE(copy_blocked(from, plain.data(), to, got.data()))
        << layout_name(from) << " to " << layout_name(to);
    EXPECT_EQ(got, expected) << layout_name(from) << " to " << layout_name(to);
}

TEST(CopyBlocked, PacksMatricesForProducts) {
    for (auto tag : {dnnl_ab, dnnl_ba, dnnl_BA16a16b, dnnl_BA16a32b, dnnl_BA16a64b, dnnl_AB16b64a})
        for (const auto& dims :
             std::vector<Dims>{{400, 120}, {84, 10}, {1, 1}, {17, 65}, {16, 64}, {1, 130}}) {
            expect_as_reorder(dims, dnnl_ab, tag);
            expect_as_reorder(dims, dnnl_ba, tag);
        }
}

TEST(CopyBlocked, FiltersInBlocksOfChannels) {
    for (auto tag : {dnnl_abcd, dnnl_acdb, dnnl_ABcd8b8a, dnnl_ABcd16b16a, dnnl_Acdb8a, dnnl_Acdb16a,
                     dnnl_ABcd4b16a4b, dnnl_ABcd8a8b})
        for (const auto& dims :
             std::vector<Dims>{{6, 1, 5, 5}, {16, 6, 5, 5}, {33, 17, 3, 3}, {64, 24, 1, 1}, {8, 8, 1, 3}}) {
            expect_as_reorder(dims, dnnl_abcd, tag);
            expect_as_reorder(dims, dnnl_acdb, tag);
        }
    for (auto tag : {dnnl_Abcde8a, dnnl_Abcde16a, dnnl_aBCde8c8b, dnnl_aBCde2c8b4c})
        for (const auto& dims : std::vector<Dims>{{32, 1, 1, 3, 3}, {13, 1, 1, 5, 5}, {3, 10, 9, 1, 2}})
            expect_as_reorder(dims, dnnl_abcde, tag);
}

TEST(CopyBlocked, UnpacksBlocks) {
    expect_as_reorder({33, 17, 3, 3}, dnnl_ABcd8b8a, dnnl_abcd);
    expect_as_reorder({32, 16, 3, 3}, dnnl_ABcd8b8a, dnnl_ABcd16b16a);
}

TEST(CopyBlocked, WholeNumbers) { expect_as_reorder({33, 17, 3, 3}, dnnl_abcd, dnnl_ABcd8b8a, dnnl_s32); }

TEST(CopyBlocked, Halves) { expect_as_reorder({33, 17, 3, 3}, dnnl_abcd, dnnl_ABcd8b8a, dnnl_bf16); }

TEST(CopyBlocked, NothingToCopy) { expect_as_reorder({0, 17}, dnnl_ab, dnnl_BA16a16b); }

TEST(CopyBlocked, RefusesConversions) {
    float value = 0;
    auto f32 = tagged({1, 1}, dnnl_ab);
    EXPECT_FALSE(copy_blocked(f32, &value, tagged({1, 1}, dnnl_ab, dnnl_bf16), &value));
#if DNNL_VERSION_MAJOR == 2
    auto compensated = *f32.get();
    compensated.extra.flags = dnnl_memory_extra_flag_compensation_conv_s8s8;
    EXPECT_FALSE(copy_blocked(f32, &value, MemoryDesc(&compensated), &value));
#endif
}

}  // namespace
}  // namespace mge::onednn
