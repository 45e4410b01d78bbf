// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graphs that nodes hold, as graphs that our operators hold.

#include <functional>

#include "libmge/model/import/onnx/operators.h"

namespace mge::onnx {

// What an inner graph is given, here and in other runs.
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

// Throws Unsupported when a node in it has no counterpart. What it reads of the graphs around it joins
// `captured`.
InnerResults record_inner(const Site& site, const Arguments& arguments, Tensors& captured,
                          const std::function<Tensors(std::span<const Tensor>)>& function);
// As far as runs agree in lengths that only a run can tell.
bool are_alike(const OtherSpecs& a, const OtherSpecs& b);
// With inputs that it does not read behind its own: operators give all graphs that they hold the same.
SubgraphRef with_inputs(const SubgraphRef& graph, std::span<const Tensor> all);
// A result whose shape only a run can tell is like one of these; where they differ, nobody may rely on
// either.
void assume_either(const Site& site, const Tensor& result, const OtherSpecs& a, const OtherSpecs& b);
// It is like `like` but for its extents along these axes.
void assume_like(const Site& site, const Tensor& result, const Tensor& like, const IntList& axes);
// It is made of slices along a new first axis.
void assume_stacked(const Site& site, const Tensor& result, const OtherSpecs& slices);

}  // namespace mge::onnx
