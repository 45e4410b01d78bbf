// SPDX-License-Identifier: Apache-2.0
// Rows of lengths for which a GPU sorts in other ways, by the CPU's order.
#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"

namespace mge::test {
namespace {

CheckOptions of(DTypes dtypes) { return {.dtypes = dtypes, .gradient = false}; }

TEST(CudaSort, TiesKeepTheirOrderInLongRows) {
    InputSpec ties{.shape = {2, 2500}, .low = -3, .high = 3};
    check_op<ops::Sort>({}, {ties}, of({DType::boolean, DType::i16}));
    check_op<ops::Sort>({.descending = true}, {ties}, of({DType::i8, DType::i64}));
    for (bool descending : {false, true}) {
        check_op<ops::Topk>({.k = 700, .descending = descending}, {ties}, of({DType::bf16}));
        check_op<ops::Topk>({.k = 700, .descending = descending, .kth_only = true}, {ties}, of({DType::i8}));
    }
}

TEST(CudaSort, LengthsAroundBlockSizes) {
    for (int64_t length : {33, 257, 2048, 2049}) {
        check_op<ops::Sort>({}, {{.shape = {2, length}}}, of({DType::f32, DType::f16}));
        check_op<ops::Sort>({.axis = 0, .descending = true}, {{.shape = {length, 2}}}, of({DType::f32}));
    }
}

TEST(CudaSort, ManyShortRows) {
    check_op<ops::Sort>({.axis = 1}, {{.shape = {300, 7, 5}}}, of({DType::f32, DType::i64}));
    check_op<ops::Topk>({.k = 2, .kth_only = true}, {{.shape = {1111, 5}}}, of({DType::f32}));
}

}  // namespace
}  // namespace mge::test
