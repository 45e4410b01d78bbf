// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/export/onnx/parts.h"
#include "libmge/ops/vision/class_nms.h"
#include "libmge/ops/vision/nms.h"
#include "libmge/ops/vision/preprocess.h"
#include "libmge/ops/vision/remap.h"
#include "libmge/ops/vision/roi_pool2d.h"

namespace mge::to_onnx {
namespace {

// A border mode of GridSample, and its position.
struct Border {
    std::string mode;
    bool is_at_centres = false;  // at the centres of the outermost pixels instead of their edges
};
Border border_of(ops::Border border) {
    switch (border) {
        case ops::Border::constant:
            return {"zeros"};
        case ops::Border::replicate:
            return {"border"};
        case ops::Border::reflect:
            return {"reflection"};
        case ops::Border::reflect_101:
            return {"reflection", true};
        case ops::Border::wrap:
            break;
    }
    unsupported("a border that wraps around");
}

Operands export_nms(Site& s) {
    auto& p = s.params<ops::Nms>();
    constexpr int64_t all = (int64_t(1) << 31) - 1;
    Operand kept = s.emit("NonMaxSuppression", {s.unsqueeze(s.in(0), {0}), s.unsqueeze(s.in(1), {0, 1}),
                                                s.integers({p.max_output < 0 ? all : p.max_output}),
                                                s.reshape(s.number(p.threshold, DType::f32), {1})});
    // Batch, class, box.
    return {s.narrowed(s.emit("Gather", {kept, s.integer(2)}, {{"axis", 1}}))};
}

// Rows of image, class and box.
Operands export_class_nms(Site& s) {
    auto one = [&](size_t i) { return s.has(i) ? s.reshape(s.in(i), {1}) : Operand(); };
    return {s.emit("NonMaxSuppression", {s.in(0), s.in(1), one(2), one(3), one(4)},
                   {{"center_point_box", int64_t(s.params<ops::ClassNms>().is_centered)}})};
}

Operands export_preprocess(Site& s) {
    bool is_last = s.params<ops::Preprocess>().channels_last;
    int64_t channels = s.extent(0, is_last ? 3 : 1), wanted = s.extent(1, 0);
    Operand x = s.cast(s.in(0), s.dtype(), DType::f32);
    if (is_last) x = s.transpose(x, {0, 3, 1, 2});
    if (wanted > channels) x = s.emit("Pad", {x, s.integers({0, 0, 0, 0, 0, wanted - channels, 0, 0})});
    x = s.emit("Sub", {x, s.reshaped(1, {wanted, 1, 1})});
    return {s.emit("Mul", {x, s.reshaped(2, {wanted, 1, 1})})};
}

// scale / (size - less) + more, of the columns and of the rows of images.
Operand per_side(Site& s, double scale, double less, double more) {
    auto number = [&](double value) { return s.number(value, DType::f32); };
    auto width = s.shapes.extent(s.id(0), 3), height = s.shapes.extent(s.id(0), 2);
    if (width && height) {
        auto side = [&](int64_t size) {
            return s.reshape(number(scale / (double(size) - less) + more), {1});
        };
        return s.emit("Concat", {side(*width), side(*height)}, {{"axis", 0}});
    }
    Operand sizes = s.cast(s.emit("Gather", {s.shape_of(0), s.integers({3, 2})}), DType::f32);
    return s.emit("Add",
                  {s.emit("Div", {number(scale), s.emit("Sub", {sizes, number(less)})}), number(more)});
}

// From pixels to ONNX's coordinates, where the image goes from -1 to 1:
//     (2p + 1)/size - 1 from edge to edge      2p/(size - 1) - 1 from centre to centre
Operands export_remap(Site& s) {
    s.require_opset(16);
    auto& p = s.params<ops::Remap>();
    Border border = border_of(p.border);
    const double less = border.is_at_centres ? 1 : 0;
    Operand factor = per_side(s, 2, less, 0), summand = per_side(s, border.is_at_centres ? 0 : 1, less, -1);
    Operand grid = s.emit("Add", {s.emit("Mul", {s.in(1), factor}), summand});
    Operand x = s.has(2) ? s.emit("Gather", {s.in(0), s.in(2)}) : s.in(0);
    bool is_shifted = p.border == ops::Border::constant && p.value != 0;
    if (is_shifted) x = s.emit("Sub", {x, s.number(p.value, s.dtype())});
    std::string linear = s.opset() >= 20 ? "linear" : "bilinear";
    Operand y = s.emit("GridSample", {x, grid},
                       {{"mode", p.interpolation == ops::Interpolation::linear ? linear : "nearest"},
                        {"padding_mode", border.mode},
                        {"align_corners", int64_t(border.is_at_centres)}});
    return {is_shifted ? s.emit("Add", {y, s.number(p.value, s.dtype())}) : y};
}

Operands export_roi_pool2d(Site& s) {
    auto& p = s.params<ops::RoiPool2d>();
    if (p.mode != ops::RoiPoolMode::max) unsupported("means of regions");
    return {s.emit("MaxRoiPool", s.all(),
                   {{"pooled_shape", IntList{p.height, p.width}}, {"spatial_scale", p.scale}})};
}

}  // namespace

ExportRows vision_rows() {
    static constexpr ExportRow rows[] = {
        {&ops::ClassNms::info, export_class_nms, "NonMaxSuppression"},
        {&ops::Nms::info, export_nms, "NonMaxSuppression"},
        {&ops::Preprocess::info, export_preprocess, "Transpose, Sub, Mul"},
        {&ops::Remap::info, export_remap, "GridSample"},
        {&ops::RoiPool2d::info, export_roi_pool2d, "MaxRoiPool"},
    };
    return rows;
}

}  // namespace mge::to_onnx
