// SPDX-License-Identifier: Apache-2.0
// Operators whose number of results is known only at run time: kept boxes, unique values.

#include "libmge/model/import/onnx/parts.h"
#include "libmge/ops/index/order/unique.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/vision/class_nms.h"

namespace mge::onnx {
namespace {

// One number, in that dtype; null: omitted.
Tensor number_in(const Site& site, size_t i, DType dtype) {
    if (!site.has(i)) return {};
    return as_dtype(ops::reshape(site.in(i), {.shape = {}}), dtype);
}

Tensors import_non_max_suppression(const Site& site) {
    bool is_centered = site.attributes.integer("center_point_box", 0);
    Tensor boxes = as_dtype(site.in(0), DType::f32), scores = as_dtype(site.in(1), DType::f32);
    return {ops::class_nms(boxes, scores, number_in(site, 2, DType::i64), number_in(site, 3, DType::f32),
                           number_in(site, 4, DType::f32), {.is_centered = is_centered})};
}

Tensors import_unique(const Site& site) {
    bool is_sorted = site.attributes.integer("sorted", 1), is_flat = !site.attributes.has("axis");
    Tensor x = is_flat ? ops::reshape(site.in(0), {.shape = {-1}}) : site.in(0);
    int axis = is_flat ? 0 : site.axis(site.attributes.integer("axis", 0), rank_of(x));
    x = moved_axis(x, axis, 0);
    Tensors results = ops::unique(x, {.sorted = is_sorted});
    results[0] = moved_axis(results[0], 0, axis);
    return results;
}

}  // namespace

ImportRows selection_rows() {
    static constexpr ImportRow rows[] = {
        {"NonMaxSuppression", import_non_max_suppression, 10},
        {"Unique", import_unique, 11},
    };
    return rows;
}

}  // namespace mge::onnx
