// SPDX-License-Identifier: Apache-2.0
// The harness has to notice what it is there for.
#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <limits>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"

namespace mge::test {
namespace {

TEST(Harness, AcceptsARightOperator) {
    for (Shape shape : {Shape{}, Shape{0}, Shape{1}, Shape{7}, Shape{3, 31}})
        check_op<ops::Add>({}, {{.shape = shape}, {.shape = shape}});
}

// What check_op finds wrong with `add` when the truth is said to be another.
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

TEST(Harness, TellsNanFromNumber) {
    EXPECT_NONFATAL_FAILURE(
        expect_close(tensor_of<float>({1}, {1}),
                     tensor_of<float>({1}, {std::numeric_limits<float>::quiet_NaN()}), 1, 1, "x"),
        "x: element 0");
}

}  // namespace
}  // namespace mge::test
