// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts inner graphs of nodes to inner graphs of our operators.

#include <functional>

#include "libmge/model/import/onnx/operators.h"

namespace mge::onnx {

// The arguments of an inner graph, and their symbolic shapes.
struct Arguments {
    TensorSpecs specs;
    std::vector<Shape> shapes;
    // Like a tensor; like one of its slices along the first axis.
    void add_like(const Tensor& t);
    void add_slice(const Tensor& t);
    void add_scalar(DType dtype);
};

struct InnerResults {
    SubgraphRef graph;
    TensorSpecs specs;
    std::vector<Shape> shapes;  // symbolic
};

// Throws Unsupported if one of its nodes has no counterpart. Values of outer graphs that it reads are
// appended to `captured`.
InnerResults record_inner(const Site& site, const Arguments& arguments, Tensors& captured,
                          const std::function<Tensors(std::span<const Tensor>)>& function);
// True if the shapes are equal when all sizes that are known only at run time are equal.
bool are_alike(const Shape& a, const Shape& b);
// With unused inputs added: operators pass the same inputs to all their inner graphs.
SubgraphRef with_inputs(const SubgraphRef& graph, std::span<const Tensor> all);
// Declares shapes of results. This one is like a or b; where they differ, neither is assumed.
void assume_either(const Tensor& result, const Shape& a, const Shape& b);
// It is like `like` except for its sizes along these axes.
void assume_like(const Tensor& result, const Shape& like, const IntList& axes);
// It is made of slices along a new first axis.
void assume_stacked(const Tensor& result, const Shape& slices);

}  // namespace mge::onnx
