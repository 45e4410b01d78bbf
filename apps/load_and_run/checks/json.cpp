// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/checks/json.h"

#include <cmath>

namespace mge::load_and_run {
namespace {

using cli::Json;

// JSON has no words for these values, and null would hide which one it was.
Json number(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return value;
}

Json indices(const Shape& shape, int64_t flat) {
    Json result = Json::array();
    std::vector<int64_t> place(size_t(std::max(shape.rank(), 0)));
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        int64_t extent = std::max<int64_t>(shape[axis], 1);
        place[size_t(axis)] = flat % extent;
        flat /= extent;
    }
    for (int64_t i : place) result.push_back(i);
    return result;
}

Json element(const ElementDifference& e, const Shape& shape) {
    return {{"index", e.index},
            {"place", indices(shape, e.index)},
            {"got", number(e.got)},
            {"expected", number(e.expected)},
            {"error", number(e.error)}};
}

}  // namespace

Json to_json(const Comparison& c, const Shape& shape) {
    Json result{{"passed", c.passed()}};
    if (!c.mismatch.empty()) {
        result["mismatch"] = c.mismatch;
        return result;
    }
    result["error"] = number(c.error);
    result["limit"] = number(c.limit);
    result["elements"] = c.count;
    result["unequal"] = c.unequal;
    result["beyond"] = c.beyond;
    for (size_t i = 0; i < metric_count; ++i)
        result["errors"][std::string(metric_names()[i])] = number(c.errors[i]);
    if (c.first_beyond) result["first_beyond"] = element(*c.first_beyond, shape);
    if (c.largest) result["largest"] = element(*c.largest, shape);
    return result;
}

Json to_json(const TensorFigures& f) {
    return {{"count", f.count},       {"nan", f.not_a_number},
            {"infinite", f.infinite}, {"min", number(f.min)},
            {"max", number(f.max)},   {"mean", number(f.mean)},
            {"rms", number(f.rms)},   {"deviation", number(f.deviation)}};
}

Json to_json(const GuardFinding& f) {
    return {{"guard", f.guard},
            {"step", f.step},
            {"op", f.op},
            {"name", f.name},
            {"output", f.output},
            {"algorithm", f.algorithm},
            {"index", f.index},
            {"place", indices(f.shape, f.index)},
            {"value", number(f.value)}};
}

Json to_json(const Reproducibility& r) {
    Json result{{"runs", r.runs}, {"steps", r.steps}, {"values", r.values}, {"equal", !r.difference}};
    if (!r.difference) return result;
    auto& d = *r.difference;
    result["first_difference"] = {
        {"step", d.step},      {"op", d.op},   {"name", d.name},   {"algorithm", d.algorithm},
        {"output", d.output},  {"run", d.run}, {"index", d.index}, {"first", number(d.first)},
        {"now", number(d.now)}};
    return result;
}

Json to_json(const Tolerance& t) {
    return {{"metric", name_of(t.metric)},
            {"rtol", t.rtol ? Json(*t.rtol) : Json("1e-4; 1e-2 for 16-bit floats")},
            {"atol", t.atol}};
}

Json to_json(const TensorSpec& spec) {
    Json shape;
    if (spec.shape.is_known()) shape = spec.shape.dims();
    return {{"dtype", name_of(spec.dtype)}, {"shape", shape}};
}

}  // namespace mge::load_and_run
