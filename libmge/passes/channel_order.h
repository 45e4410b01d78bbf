// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pass order_channels stores the channels of some values in another order than the source graph has them.
// Tools that compare values put them back.

#include "libmge/graph/graph.h"

namespace mge {

// A convolution with one filter per channel: its result has the channel order of its image.
bool is_depthwise(const Graph& graph, const Node& node);

// For each channel of the value, its index in the source's order; empty if the order is the same.
MGE_API IntList channel_order(const Graph& graph, ValueId id);
// The plain content of the value with its channels in the source's order.
MGE_API Tensor in_source_order(const Graph& graph, ValueId id, const Tensor& plain);
// The inverse.
MGE_API Tensor from_source_order(const Graph& graph, ValueId id, const Tensor& plain);

}  // namespace mge
