// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/export/onnx/parts.h"
#include "libmge/ops/nn/pooling/adaptive_pool2d.h"
#include "libmge/ops/nn/pooling/geometry.h"
#include "libmge/ops/nn/pooling/pool2d.h"

namespace mge::to_onnx {
namespace {

IntList height_and_width(const ops::Pair& pair) { return {pair[0], pair[1]}; }

template <class Params>
Attributes pooling_window(const Params& p) {
    return {{"kernel_shape", height_and_width(p.kernel)},
            {"strides", height_and_width(p.stride)},
            {"pads", IntList{p.padding[0], p.padding[1], p.padding[0], p.padding[1]}}};
}

Operands export_max_pool2d(Site& s) {
    return {s.emit("MaxPool", {s.in(0)}, pooling_window(s.params<ops::MaxPool2d>()))};
}

Operands export_avg_pool2d(Site& s) {
    auto& p = s.params<ops::AvgPool2d>();
    Attributes attributes = pooling_window(p);
    attributes.push_back({"count_include_pad", int64_t(p.count_include_pad)});
    return {s.emit("AveragePool", {s.in(0)}, attributes)};
}

// All its windows have one size and one step.
Operands export_adaptive_pool2d(Site& s) {
    auto& p = s.node.as<ops::AdaptiveMaxPool2d::Params>();
    if (p.height == 1 && p.width == 1) return {s.emit("Global" + std::string(s.type), {s.in(0)})};
    Shape image{1, 1, s.extent(0, 2), s.extent(0, 3)};
    auto geometry = ops::adaptive_pool_geometry(s.node.op->name, image, {p.height, p.width});
    return {s.emit(std::string(s.type), {s.in(0)}, pooling_window(geometry))};
}

}  // namespace

ExportRows pooling_rows() {
    static constexpr ExportRow rows[] = {
        {&ops::AdaptiveAvgPool2d::info, export_adaptive_pool2d, "AveragePool"},
        {&ops::AdaptiveMaxPool2d::info, export_adaptive_pool2d, "MaxPool"},
        {&ops::AvgPool2d::info, export_avg_pool2d, "AveragePool"},
        {&ops::MaxPool2d::info, export_max_pool2d, "MaxPool"},
    };
    return rows;
}

}  // namespace mge::to_onnx
