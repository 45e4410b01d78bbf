// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every operator, one line each. Kernel tables, Python, files, documentation and tests are derived from this
// list.

#include "libmge/op/backend.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/convert.h"
#include "libmge/ops/index/slice.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/shape/broadcast.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/flip.h"
#include "libmge/ops/shape/pad.h"
#include "libmge/ops/shape/reduce_to_shape.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/shape_of.h"
#include "libmge/ops/shape/split.h"
#include "libmge/ops/shape/transpose.h"

namespace mge {

using AllOps = TypeList<  //
    ops::Add,             //
    ops::AddAxis,         //
    ops::AddSlice,        //
    ops::BroadcastLike,   //
    ops::BroadcastTo,     //
    ops::Concat,          //
    ops::Convert,         //
    ops::Flatten,         //
    ops::Flip,            //
    ops::Full,            //
    ops::FullLike,        //
    ops::Matmul,          //
    ops::Pad,             //
    ops::PadBackward,     //
    ops::ReduceToShape,   //
    ops::RemoveAxis,      //
    ops::Reshape,         //
    ops::ReshapeLike,     //
    ops::SetSlice,        //
    ops::ShapeOf,         //
    ops::Slice,           //
    ops::Split,           //
    ops::Transpose>;

}  // namespace mge
