// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks an operator the way all operators are checked: for every dtype it claims, every candidate of its
// kernel list runs (one thread and several, and in place where that is allowed) and is compared with the
// reference, the last of the list or a given function; so are the other ways to execute it
// (execution_modes.h); its gradient is compared with finite differences. Tolerances: tolerance.h. The seed is
// part of every failure message; MGE_TEST_SEED sets it.
//
//     TEST(Softmax, SumsToOne) {
//         for (Shape shape : {Shape{0}, Shape{1}, Shape{7}, Shape{3, 31}})
//             check_op<ops::Softmax>({.axis = -1}, {{.shape = shape}},
//                                    {.dtypes = float_types, .reduction = shape.numel()});
//     }
//
// Inputs are listed in the operator's order: {.absent = true} for an optional one left out, a fixed .dtype
// for those that do not follow the swept dtype (masks, indices), .values for exact contents, .low and .high
// for the range of random ones. Keep the range away from kinks (relu at 0) or give {.gradient = false}.

#include <functional>
#include <string>
#include <vector>

#include "libmge/device/default_device.h"
#include "libmge/op/apply.h"
#include "libmge/op/op.h"

namespace mge::test {

using DTypes = std::vector<DType>;
inline const DTypes float_types{DType::f32, DType::f16, DType::bf16};
inline const DTypes int_types{DType::u8, DType::i8, DType::u16, DType::i16, DType::i32, DType::i64};
inline const DTypes number_types{DType::u8,  DType::i8,  DType::u16, DType::i16, DType::i32,
                                 DType::i64, DType::f32, DType::f16, DType::bf16};
inline const DTypes all_types{DType::boolean, DType::u8,  DType::i8,  DType::u16, DType::i16,
                              DType::i32,     DType::i64, DType::f32, DType::f16, DType::bf16};

// Those that only some operators take, and only on a CPU.
inline const DTypes rare_types{DType::u32, DType::u64, DType::f64};

struct InputSpec {
    Shape shape;
    double low = -2, high = 2;   // random contents; unsigned dtypes take their absolute value
    DType dtype = DType::none;   // none: the swept dtype
    bool absent = false;         // an optional input left out
    bool differentiate = true;   // false: no finite differences for this input
    std::vector<double> values;  // exact contents, repeated as often as needed
};

// The expected results of the operator, from its inputs after promotion.
using Reference = std::function<Tensors(std::span<const Tensor> inputs)>;

struct CheckOptions {
    DTypes dtypes{DType::f32};
    int64_t reduction = 1;     // length of the longest accumulation: the column of the tolerance table
    double looser = 1;         // multiplies the tolerance; say why beside it
    bool gradient = true;      // finite differences (for f32, when the operator has a gradient)
    Reference reference = {};  // empty: the last candidate of the kernel list
};

void check_op(const OpInfo& op, const void* params, const std::vector<InputSpec>& inputs,
              const CheckOptions& options = {});

template <class O>
void check_op(const typename O::Params& params, const std::vector<InputSpec>& inputs,
              const CheckOptions& options = {}) {
    check_op(O::info, &params, inputs, options);
}

// Compares element by element; NaN equals NaN, infinities only themselves. `what` heads the failure message.
void expect_close(const Tensor& got, const Tensor& expected, int64_t reduction, double looser,
                  const std::string& what);

// Conversions for tests.
std::vector<double> values_of(const Tensor& tensor);
Tensor make_tensor(DType dtype, const Shape& shape, const std::vector<double>& values);
template <class T>
Tensor tensor_of(const Shape& shape, const std::vector<T>& values) {
    return make_tensor(DTypeOf<T>, shape, std::vector<double>(values.begin(), values.end()));
}

}  // namespace mge::test
