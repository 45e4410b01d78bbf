// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "libmge/mge.h"
#include "libmge/ops/trees/tree_ensemble.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"

namespace mge::test {
namespace {

using ops::TreeAggregate;

// Two trees: x0 <= 1 ? (x1 > 2 ? 10 : 20) : 30 to target 0, and x1 == 5 ? 1 : 2 to target 1 (and 4 to 0).
struct Forest {
    Tensor questions = make_tensor(DType::u8, {8}, {0, 3, 6, 6, 6, 4, 6, 6});
    Tensor features = make_tensor(DType::i32, {8}, {0, 1, 0, 0, 0, 1, 0, 0});
    Tensor thresholds = tensor_of<float>({8}, {1, 2, 0, 0, 0, 5, 0, 0});
    Tensor children = make_tensor(DType::i32, {8, 2}, {1, 4, 2, 3, 0, 1, 1, 2, 2, 3, 6, 7, 3, 4, 4, 6});
    Tensor missing = make_tensor(DType::u8, {8}, {1, 0, 0, 0, 0, 0, 0, 0});
    Tensor roots = make_tensor(DType::i32, {2}, {0, 5});
    Tensor leaves = make_tensor(DType::i32, {6}, {0, 0, 0, 1, 1, 0});
    Tensor weights = tensor_of<float>({6}, {10, 20, 30, 1, 2, 4});

    std::vector<double> of(const Tensor& x, TreeAggregate aggregate) const {
        return values_of(ops::tree_ensemble(
            {x, questions, features, thresholds, children, missing, roots, leaves, weights},
            {.targets = 2, .aggregate = aggregate}));
    }
};

TEST(TreeEnsemble, FollowsTheBranches) {
    Forest forest;
    Tensor x = tensor_of<float>({4, 2}, {1, 3, 0, 2, 2, 5, std::nanf(""), std::nanf("")});
    EXPECT_THAT(forest.of(x, TreeAggregate::sum), testing::ElementsAre(14, 2, 24, 2, 30, 1, 24, 2));
    EXPECT_THAT(forest.of(x, TreeAggregate::average), testing::ElementsAre(7, 1, 12, 1, 15, 0.5, 12, 1));
    EXPECT_THAT(forest.of(x, TreeAggregate::min), testing::ElementsAre(4, 2, 4, 2, 30, 1, 4, 2));
    EXPECT_THAT(forest.of(x, TreeAggregate::max), testing::ElementsAre(10, 2, 20, 2, 30, 1, 20, 2));
}

// A chain of 40 questions, for few rows and for blocks of them.
TEST(TreeEnsemble, AgreesForManyRows) {
    std::vector<double> questions, features, children, missing, leaves;
    std::vector<double> thresholds, weights;
    for (int i = 0; i < 40; ++i) {
        questions.insert(questions.end(), {double(i % 6), 6});
        features.insert(features.end(), {double(i % 3), 0});
        thresholds.insert(thresholds.end(), {i * 0.05 - 1, 0});
        children.insert(children.end(), {2.0 * i + 1, 2.0 * i + 2, double(i), i + 1.0});
        missing.insert(missing.end(), {double(i % 2), 0});
        leaves.push_back(i % 4);
        weights.push_back(i * 0.3 - 2);
    }
    questions.push_back(6);
    features.push_back(0);
    thresholds.push_back(0);
    children.insert(children.end(), {39, 40});
    missing.push_back(0);
    auto count = int64_t(questions.size());
    auto fixed = [](const Shape& shape, DType dtype, const std::vector<double>& values) {
        return InputSpec{.shape = shape, .dtype = dtype, .differentiate = false, .values = values};
    };
    for (int64_t rows : {0, 1, 63, 64, 200})
        for (TreeAggregate how : {TreeAggregate::sum, TreeAggregate::average, TreeAggregate::max})
            check_op<ops::TreeEnsemble>({.targets = 4, .aggregate = how},
                                        {{.shape = {rows, 3}, .dtype = DType::f32, .differentiate = false},
                                         fixed({count}, DType::u8, questions),
                                         fixed({count}, DType::i32, features),
                                         fixed({count}, DType::f32, thresholds),
                                         fixed({count, 2}, DType::i32, children),
                                         fixed({count}, DType::u8, missing),
                                         fixed({1}, DType::i32, {0}),
                                         fixed({40}, DType::i32, leaves),
                                         fixed({40}, DType::f32, weights)},
                                        {});
}

TEST(TreeEnsemble, ValidatesTables) {
    Tensor x = tensor_of<float>({1, 2}, {0, 0}), many = tensor_of<float>({80, 2}, std::vector<float>(160));
    auto expect = [&](const std::string& reason, const Forest& forest) {
        for (auto& rows : {x, many})
            expect_user_error(ErrorClass::value, "[tree_ensemble] " + reason,
                              [&] { forest.of(rows, TreeAggregate::sum); });
    };
    Forest forest;
    forest.children = make_tensor(DType::i32, {8, 2}, {0, 4, 2, 3, 0, 1, 1, 2, 2, 3, 6, 7, 3, 4, 4, 6});
    expect("node 0 of 8 has the child 0, which must come after it", forest);
    forest.children = make_tensor(DType::i32, {8, 2}, {8, 4, 2, 3, 0, 1, 1, 2, 2, 3, 6, 7, 3, 4, 4, 6});
    expect("node 0 of 8 has the child 8, which must come after it", forest);
    forest = {};
    forest.features = make_tensor(DType::i32, {8}, {2, 1, 0, 0, 0, 1, 0, 0});
    expect("node 0 reads feature 2 of 2", forest);
    forest = {};
    forest.roots = make_tensor(DType::i32, {2}, {-1, 5});
    expect("root -1 of 8 nodes", forest);
    forest = {};
    forest.children = make_tensor(DType::i32, {8, 2}, {1, 4, 2, 3, 0, 1, 1, 2, 2, 3, 6, 7, 3, 4, 4, 7});
    expect("leaf 7 has rows 4 to 7 of 6", forest);
    forest = {};
    forest.leaves = make_tensor(DType::i32, {6}, {0, 2, 0, 1, 1, 0});
    expect("a leaf adds to target 2 of 2", forest);
}

TEST(TreeEnsemble, RejectsInvalidArguments) {
    Forest forest;
    forest.missing = make_tensor(DType::u8, {7}, {0, 0, 0, 0, 0, 0, 0});
    expect_user_error(ErrorClass::value, "[tree_ensemble] missing must be uint8 of shape (8,), got uint8(7,)",
                      [&] {
                          forest.of(tensor_of<float>({1, 2}, {0, 0}), TreeAggregate::sum);
                      });
    expect_user_error(ErrorClass::value,
                      "[tree_ensemble] x must be float32 of shape (n, features), got float32(2,)", [&] {
                          Forest().of(tensor_of<float>({2}, {0, 0}), TreeAggregate::sum);
                      });
}

}  // namespace
}  // namespace mge::test
