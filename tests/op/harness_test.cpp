// SPDX-License-Identifier: Apache-2.0
// The harness has to notice what it is there for.
#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"
#include "tests/harness/edge_memory.h"

namespace mge::test {
namespace {

TEST(Harness, AcceptsACorrectOperator) {
    for (Shape shape : {Shape{}, Shape{0}, Shape{1}, Shape{7}, Shape{3, 31}})
        check_op<ops::Add>({}, {{.shape = shape}, {.shape = shape}});
}

// The faults that check_op finds in `add` when it is given a wrong truth.
std::vector<std::string> faults(const Reference& truth) {
    testing::TestPartResultArray results;
    {
        testing::ScopedFakeTestPartResultReporter catcher(
            testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
        check_op<ops::Add>({}, {{.values = {1}}, {.values = {1}}}, {.reference = truth});
    }
    std::vector<std::string> messages;
    for (int i = 0; i < results.size(); ++i) messages.push_back(results.GetTestPartResult(i).message());
    return messages;
}

TEST(Harness, ComparesWithAGivenReference) {
    EXPECT_THAT(faults([](auto in) { return Tensors{ops::add(in[0], in[1])}; }), testing::IsEmpty());
    EXPECT_THAT(faults([](auto in) { return Tensors{in[0]}; }),
                testing::Each(testing::HasSubstr("element 0 is 2, expected 1")));
    EXPECT_THAT(faults([](auto in) { return Tensors{in[0]}; }), testing::SizeIs(testing::Ge(2)));
}

TEST(Harness, DistinguishesNanFromNumbers) {
    EXPECT_NONFATAL_FAILURE(
        expect_close(tensor_of<float>({1}, {1}),
                     tensor_of<float>({1}, {std::numeric_limits<float>::quiet_NaN()}), 1, 1, "x"),
        "x: element 0");
}

// Whether the system, which no sanitizer watches, can read the byte there.
bool is_mapped(const void* address) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    bool is = ::write(ends[1], address, 1) == 1;
    EXPECT_TRUE(is || errno == EFAULT);
    for (int end : ends) ::close(end);
    return is;
}

TEST(EdgeMemory, IsExactlyTheRequestedSize) {
    for (int64_t n : {1, 3, 1024, 5000}) {
        Tensor edge = edge_copy(tensor_of<float>({n}, std::vector<float>(size_t(n), 7)));
        auto* last = edge.data<float>() + n - 1;
        EXPECT_EQ(*last, 7) << n;
        EXPECT_TRUE(is_mapped(last)) << n;
        EXPECT_FALSE(is_mapped(last + 1)) << n;
    }
}

TEST(EdgeMemory, IsAlignedOnRequest) {
    StorageRef storage = edge_storage(70, 64);
    EXPECT_EQ(uintptr_t(storage->data) % 64, 0u);
    EXPECT_FALSE(is_mapped(static_cast<std::byte*>(storage->data) + 128));
}

}  // namespace
}  // namespace mge::test
