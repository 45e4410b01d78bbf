// SPDX-License-Identifier: Apache-2.0
#pragma once
// The numbers of ONNX's element types (TensorProto.DataType), for reading and writing.

#include "libmge/tensor/dtype.h"

namespace mge {

struct OnnxDType {
    int number;
    DType dtype;
};
inline constexpr OnnxDType onnx_dtypes[] = {
    {1, DType::f32},   {2, DType::u8},        {3, DType::i8},      {4, DType::u16},     {5, DType::i16},
    {6, DType::i32},   {7, DType::i64},       {9, DType::boolean}, {10, DType::f16},    {11, DType::f64},
    {12, DType::u32},  {13, DType::u64},      {16, DType::bf16},   {17, DType::e4m3fn}, {18, DType::e4m3fnuz},
    {19, DType::e5m2}, {20, DType::e5m2fnuz}, {24, DType::e8m0},   {21, DType::u4},     {22, DType::i4},
    {23, DType::e2m1}, {25, DType::u2},       {26, DType::i2},
};

}  // namespace mge
