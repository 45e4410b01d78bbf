// SPDX-License-Identifier: Apache-2.0
// Our operators in MegEngine's words.
#include <gtest/gtest.h>

#include <algorithm>

#include "libmge/model/import/megengine/counterparts.h"
#include "libmge/model/import/megengine/operators.h"

namespace mge::megengine {
namespace {

Counterpart counterpart_of(std::string_view name, const TensorSpecs& inputs = {}) {
    return counterpart(*find_op(name), inputs);
}

TEST(Counterparts, EveryRowNamesAnOperatorAndAMegEngineType) {
    auto types = known_types();
    auto rows = listed_counterparts();
    EXPECT_TRUE(std::ranges::is_sorted(rows));
    for (auto& [op, type] : rows) {
        EXPECT_TRUE(find_op(op)) << op;
        EXPECT_TRUE(std::ranges::find(types, type) != types.end()) << type;
    }
}

TEST(Counterparts, ModesFollowFromTheImportersTable) {
    EXPECT_EQ(counterpart_of("sub").mode, "SUB");
    EXPECT_EQ(counterpart_of("maximum").mode, "MAX");
    EXPECT_EQ(counterpart_of("logical_not").mode, "NOT");
    EXPECT_EQ(counterpart_of("hswish").mode, "H_SWISH");
    EXPECT_EQ(counterpart_of("left_shift").mode, "SHL");
    EXPECT_EQ(counterpart_of("leaky_relu").mode, "LEAKY_RELU");  // MegEngine has no such mode
    EXPECT_EQ(counterpart_of("sub").type, "Elemwise");
}

TEST(Counterparts, TypesOfOtherOperators) {
    TensorSpec matrix{DType::f32, {2, 2}, {}}, batch{DType::f32, {3, 2, 2}, {}};
    EXPECT_EQ(counterpart_of("matmul", {matrix, matrix}).type, "MatrixMul");
    EXPECT_EQ(counterpart_of("matmul", {batch, batch}).type, "BatchedMatrixMul");
    EXPECT_EQ(counterpart_of("mean").mode, "MEAN");
    EXPECT_EQ(counterpart_of("batch_norm").type, "BatchNorm");
}

}  // namespace
}  // namespace mge::megengine
