// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts inner graphs of nodes to inner graphs of our operators.

#include <functional>

#include "libmge/model/import/onnx/operators.h"

namespace mge::onnx {

// The arguments of an inner graph, here and in other runs.
struct Arguments {
    TensorSpecs specs;
    std::vector<OtherSpecs> others;
    void add(const TensorSpec& spec, const OtherSpecs& other);
    // Like a tensor; like one of its slices along the first axis.
    void add_like(const Site& site, const Tensor& t);
    void add_slice(const Site& site, const Tensor& t);
    void add_scalar(DType dtype);
};

struct InnerResults {
    SubgraphRef graph;
    TensorSpecs specs;
    std::vector<OtherSpecs> others;
};

// Throws Unsupported if one of its nodes has no counterpart. Values of outer graphs that it reads are
// appended to `captured`.
InnerResults record_inner(const Site& site, const Arguments& arguments, Tensors& captured,
                          const std::function<Tensors(std::span<const Tensor>)>& function);
// As far as runs agree in lengths known only at run time.
bool are_alike(const OtherSpecs& a, const OtherSpecs& b);
// With unused inputs added: operators pass the same inputs to all their inner graphs.
SubgraphRef with_inputs(const SubgraphRef& graph, std::span<const Tensor> all);
// A result whose shape is known only at run time is like one of these; where they differ, neither may be
// assumed.
void assume_either(const Site& site, const Tensor& result, const OtherSpecs& a, const OtherSpecs& b);
// It is like `like` except for its sizes along these axes.
void assume_like(const Site& site, const Tensor& result, const Tensor& like, const IntList& axes);
// It is made of slices along a new first axis.
void assume_stacked(const Site& site, const Tensor& result, const OtherSpecs& slices);

}  // namespace mge::onnx
