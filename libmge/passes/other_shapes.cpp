// SPDX-License-Identifier: Apache-2.0
#include "libmge/passes/other_shapes.h"

#include <algorithm>
#include <set>

namespace mge {
namespace {

constexpr int64_t batches[] = {1, 2, 3, 7};
constexpr int least_image_rank = 3;

std::vector<Shape> shapes_of(const Graph& graph) {
    std::vector<Shape> shapes;
    for (auto& value : graph.values()) shapes.push_back(value.spec.shape);
    return shapes;
}

// Heights and widths derived from those of an image, whose axes are `height` and the next one.
struct Size {
    int64_t times, more_rows, more_columns;
};
constexpr Size sizes[] = {{1, 1, 1},  {1, 1, 0},  {1, 0, 1},  {2, 0, 0}, {2, 1, 1},
                          {1, 32, 0}, {1, 0, 32}, {3, 0, 32}, {0, 1, 1}};

class Trials {
public:
    explicit Trials(const TensorSpecs& present) : present_(present) {}

    std::vector<TensorSpecs> all() {
        for (int64_t batch : batches) add_batch(present_, batch);
        for (size_t i = 0; i < present_.size(); ++i)
            for (int axis = 0; axis < present_[i].shape.rank(); ++axis) {
                int64_t extent = present_[i].shape[axis];
                for (int64_t other : {int64_t(1), extent + 1, 2 * extent, 3 * extent}) {
                    TensorSpecs specs = present_;
                    specs[i].shape[axis] = other;
                    add(specs);
                }
            }
        // Channels first and channels last.
        for (int height_from_end : {2, 3})
            for (auto& size : sizes) {
                TensorSpecs specs = resized(height_from_end, size);
                add(specs);
                add_batch(specs, 3);
            }
        return std::move(trials_);
    }

private:
    void add(const TensorSpecs& specs) {
        std::string key;
        for (auto& spec : specs) key += text(spec, ';');
        if (seen_.insert(key).second) trials_.push_back(specs);
    }
    void add_batch(TensorSpecs specs, int64_t batch) {
        for (auto& spec : specs)
            if (spec.shape.rank() > 0) spec.shape[0] = batch;
        add(specs);
    }
    TensorSpecs resized(int height_from_end, const Size& size) const {
        TensorSpecs specs = present_;
        for (auto& spec : specs) {
            int height = spec.shape.rank() - height_from_end;
            if (spec.shape.rank() < least_image_rank || height < 1) continue;
            spec.shape[height] = spec.shape[height] * size.times + size.more_rows;
            spec.shape[height + 1] = spec.shape[height + 1] * size.times + size.more_columns;
        }
        return specs;
    }

    const TensorSpecs& present_;
    std::vector<TensorSpecs> trials_;
    std::set<std::string> seen_;
};

}  // namespace

OtherShapes::OtherShapes(const Graph& graph, const PassOptions& options) {
    shapes_.push_back(shapes_of(graph));
    if (options.fixed_shapes) return;
    TensorSpecs present;
    for (ValueId id : graph.inputs()) present.push_back(graph.value(id).spec);
    is_known_ = std::ranges::all_of(present, [](auto& spec) { return spec.shape.is_known(); });
    if (!is_known_) return;
    for (auto& inputs : Trials(present).all()) try_inputs(graph, inputs);
}

void OtherShapes::try_inputs(const Graph& graph, const TensorSpecs& inputs) {
    try {
        shapes_.push_back(shapes_of(infer_shapes(graph, inputs)));
    } catch (const UserError&) {
        // The graph does not work at these.
    }
}

bool OtherShapes::is_same_shape(ValueId a, ValueId b) const {
    return is_known_ && std::ranges::all_of(shapes_, [&](auto& shapes) {
               return shapes[size_t(a)].is_known() && shapes[size_t(a)] == shapes[size_t(b)];
           });
}

bool OtherShapes::is_same_extent(ValueId a, int axis_of_a, ValueId b, int axis_of_b) const {
    auto has = [](const Shape& shape, int axis) { return shape.is_known() && axis < shape.rank(); };
    return is_known_ && std::ranges::all_of(shapes_, [&](auto& shapes) {
               auto &of_a = shapes[size_t(a)], &of_b = shapes[size_t(b)];
               return has(of_a, axis_of_a) && has(of_b, axis_of_b) && of_a[axis_of_a] == of_b[axis_of_b];
           });
}

bool OtherShapes::is_fixed(ValueId value, int axis) const {
    auto& now = shapes_.front()[size_t(value)];
    return is_known_ && std::ranges::all_of(shapes_, [&](auto& shapes) {
               auto& shape = shapes[size_t(value)];
               return shape.is_known() && shape.rank() == now.rank() && shape[axis] == now[axis];
           });
}

}  // namespace mge
