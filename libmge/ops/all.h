// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every operator, one line each. Kernel tables, Python, files, documentation and tests are derived from this
// list.

#include "libmge/op/backend.h"
#include "libmge/ops/create/arange.h"
#include "libmge/ops/create/eye.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/convert.h"
#include "libmge/ops/index/cond_take.h"
#include "libmge/ops/index/embedding.h"
#include "libmge/ops/index/gather.h"
#include "libmge/ops/index/one_hot.h"
#include "libmge/ops/index/slice.h"
#include "libmge/ops/index/sort.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/nn/group_norm.h"
#include "libmge/ops/nn/layer_norm.h"
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

using AllOps = TypeList<     //
    ops::Add,                //
    ops::AddAxis,            //
    ops::AddSlice,           //
    ops::AddTake,            //
    ops::Arange,             //
    ops::BroadcastLike,      //
    ops::BroadcastTo,        //
    ops::Concat,             //
    ops::CondTake,           //
    ops::Convert,            //
    ops::Embedding,          //
    ops::EmbeddingBackward,  //
    ops::Eye,                //
    ops::Flatten,            //
    ops::Flip,               //
    ops::Full,               //
    ops::FullLike,           //
    ops::Gather,             //
    ops::GroupNorm,          //
    ops::GroupNormBackward,  //
    ops::IndexingOneHot,     //
    ops::IndexingSetOneHot,  //
    ops::LayerNorm,          //
    ops::LayerNormBackward,  //
    ops::Linspace,           //
    ops::Matmul,             //
    ops::OneHot,             //
    ops::Pad,                //
    ops::PadBackward,        //
    ops::ReduceToShape,      //
    ops::RemoveAxis,         //
    ops::Reshape,            //
    ops::ReshapeLike,        //
    ops::Scatter,            //
    ops::ScatterAdd,         //
    ops::SetSlice,           //
    ops::SetTake,            //
    ops::ShapeOf,            //
    ops::Slice,              //
    ops::Sort,               //
    ops::Split,              //
    ops::Take,               //
    ops::Topk,               //
    ops::Transpose>;

}  // namespace mge
