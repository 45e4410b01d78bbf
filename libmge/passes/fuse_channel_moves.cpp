// SPDX-License-Identifier: Apache-2.0
// Joins, cuts, slices, reshapes and transpositions that only move channels become one step per image that is
// read:
//
//     split(flatten(stack(a, b)))[0] => take_channels(a, b, channels = 0, n, 1, n + 1, …)
//
// A channel shuffle splits channels into two axes, which no image layout has; the step that replaces it works
// on images in place. Each channel is traced back to the image that another operator computed, through all
// shuffles, so intermediate results are never written.
//
// Nodes are kept if there are only joins and slices of images: layouts implement these in place.
//
// The pass is not a table of rules (graph/match.h), because each value carries the list of its channels to
// the next operator.

#include <algorithm>
#include <optional>
#include <ranges>
#include <set>

#include "libmge/graph/node_problem.h"
#include "libmge/graph/rewrite.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/image.h"
#include "libmge/ops/shape/layout/take_channels.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/split.h"
#include "libmge/passes/pass.h"
#include "libmge/passes/region.h"

namespace mge {
namespace {

constexpr int64_t most_image_channels = 1 << 16;  // largest number of channels of an image

struct Channel {
    ValueId image;
    int64_t index;
};

// A value as images of height × width: its first axis counts them, its last one or two the pixels, those in
// between the channels.
struct Moved {
    int64_t height = 0, width = 0;
    std::vector<Channel> channels;  // in the row-major order of their axes
    bool is_recounted = false;      // along more or fewer axes than one, here or on the way
};

// Number of pixel axes of the shape; 0: it is not such a value.
int pixel_axes(const Shape& shape, const Moved& moved) {
    int rank = shape.rank();
    if (rank > 2 && shape[rank - 2] == moved.height && shape[rank - 1] == moved.width) return 2;
    return rank > 1 && shape[rank - 1] == moved.height * moved.width ? 1 : 0;
}

// The sizes of the axes into which channels are split.
std::vector<int64_t> channel_extents(const Shape& shape, const Moved& moved) {
    return {shape.begin() + 1, shape.end() - pixel_axes(shape, moved)};
}

// The shape counts exactly the channels and the pixels that the images have.
bool fits(const Shape& shape, const Moved& moved) {
    return pixel_axes(shape, moved) > 0 &&
           Shape(channel_extents(shape, moved)).numel() == int64_t(moved.channels.size());
}

bool is_image(const Shape& shape, const Moved& moved) {
    return shape.rank() == ops::image_rank && pixel_axes(shape, moved) == 2;
}

class ChannelMoves {
public:
    explicit ChannelMoves(const Graph& graph)
        : graph_(graph), rewrite_(graph), moved_(graph.values().size()) {}

    Graph run() {
        for (size_t i = 0; i < graph_.nodes().size(); ++i) {
            auto& node = graph_.node(NodeId(i));
            if (follow(node)) continue;
            for (ValueId id : node.inputs) write(id);
            rewrite_.copy(NodeId(i));
        }
        for (ValueId id : graph_.outputs()) write(id);
        return remove_dead_nodes(rewrite_.finish(), {});
    }

private:
    const Shape& shape(ValueId id) const { return graph_.value(id).spec.shape; }
    bool is_moved(ValueId id) const { return id != no_value && moved_[size_t(id)].has_value(); }

    // The value with its traced channels, or as an image of its own.
    std::optional<Moved> images(ValueId id) const {
        if (is_moved(id)) return moved_[size_t(id)];
        auto& s = shape(id);
        if (!s.is_known() || s.rank() != ops::image_rank || s.numel() == 0 || s[1] > most_image_channels)
            return std::nullopt;
        Moved moved{s[2], s[3], {}};
        for (int64_t i = 0; i < s[1]; ++i) moved.channels.push_back({id, i});
        return moved;
    }

    // Records the origins of the outputs' channels if the node only moves them.
    bool follow(const Node& node) {
        if (node.inputs.empty() || node.inputs[0] == no_value) return false;
        for (ValueId id : node.outputs)
            if (!shape(id).is_known() || shape(id).numel() == 0) return false;
        if (node.op == &ops::Concat::info) return follow_concat(node);
        if (node.op == &ops::Split::info) return follow_split(node);
        if (node.op == &ops::Slice::info) return follow_slice(node);
        if (node.op == &ops::Transpose::info) return follow_transpose(node);
        // A view that is computed once waits for something.
        return node.op->traits.view && !node.op->traits.once && follow_view(node);
    }

    // False if the value cannot be described by channels of such images: its node is not changed.
    bool note(ValueId output, Moved moved) {
        if (!fits(shape(output), moved)) return false;
        moved.is_recounted = moved.is_recounted || !is_image(shape(output), moved);
        moved_[size_t(output)] = std::move(moved);
        return true;
    }

    bool follow_view(const Node& node) {
        auto moved = images(node.inputs[0]);
        auto& to = shape(node.outputs[0]);
        if (!moved || to.rank() < 2 || to[0] != shape(node.inputs[0])[0]) return false;
        return note(node.outputs[0], std::move(*moved));
    }

    bool follow_transpose(const Node& node) {
        auto moved = images(node.inputs[0]);
        if (!moved) return false;
        auto& from = shape(node.inputs[0]);
        auto axes = ops::transpose_axes(node.as<ops::Transpose::Params>(), from.rank());
        int first_pixel = from.rank() - pixel_axes(from, *moved);
        for (int i = 0; i < from.rank(); ++i)
            if ((i == 0 || i >= first_pixel) && axes[size_t(i)] != i) return false;
        auto extents = channel_extents(shape(node.outputs[0]), *moved);
        Strides strides = dense_strides(Shape(channel_extents(from, *moved)));
        std::vector<Channel> channels;
        for (int64_t i = 0; i < int64_t(moved->channels.size()); ++i) {
            int64_t at = 0, rest = i;
            for (size_t axis = extents.size(); axis-- > 0; rest /= extents[axis])
                at += rest % extents[axis] * strides[size_t(axes[axis + 1] - 1)];
            channels.push_back(moved->channels[size_t(at)]);
        }
        moved->channels = std::move(channels);
        return note(node.outputs[0], std::move(*moved));
    }

    // The axis of channels along which the operator joins or cuts, counted from the first of these; nullopt
    // for other axes.
    static std::optional<size_t> channel_axis(int axis, const Shape& shape, const Moved& moved) {
        if (axis < 0) axis += shape.rank();
        bool counts_channels = axis > 0 && axis < shape.rank() - pixel_axes(shape, moved);
        return counts_channels ? std::optional(size_t(axis) - 1) : std::nullopt;
    }

    static bool have_equal_pixels(const Moved& a, const Shape& a_shape, const Moved& b,
                                  const Shape& b_shape) {
        return a.height == b.height && a.width == b.width && pixel_axes(a_shape, a) == pixel_axes(b_shape, b);
    }

    bool follow_concat(const Node& node) {
        Moved joined;
        auto &first = shape(node.inputs[0]), &to = shape(node.outputs[0]);
        std::vector<Moved> parts;
        for (ValueId id : node.inputs) {
            auto moved = images(id);
            if (!moved || (!parts.empty() && !have_equal_pixels(*moved, shape(id), parts[0], first)))
                return false;
            joined.is_recounted = joined.is_recounted || moved->is_recounted;
            parts.push_back(std::move(*moved));
        }
        joined.height = parts[0].height;
        joined.width = parts[0].width;
        auto axis = channel_axis(node.as<ops::Concat::Params>().axis, first, joined);
        if (!axis || pixel_axes(to, joined) != pixel_axes(first, joined)) return false;
        auto extents = channel_extents(to, joined);
        int64_t outer = Shape(std::span(extents).first(*axis)).numel();
        for (int64_t i = 0; i < outer; ++i)
            for (auto& part : parts) {
                auto inner = std::ptrdiff_t(part.channels.size()) / outer;
                auto begin = part.channels.begin() + i * inner;
                joined.channels.insert(joined.channels.end(), begin, begin + inner);
            }
        return note(node.outputs[0], std::move(joined));
    }

    bool follow_split(const Node& node) {
        auto whole = images(node.inputs[0]);
        if (!whole) return false;
        auto axis = channel_axis(node.as<ops::Split::Params>().axis, shape(node.inputs[0]), *whole);
        if (!axis) return false;
        auto extents = channel_extents(shape(node.inputs[0]), *whole);
        int64_t outer = Shape(std::span(extents).first(*axis)).numel();
        auto row = std::ptrdiff_t(whole->channels.size()) / outer, start = std::ptrdiff_t(0);
        auto is_part = [&](ValueId id) {
            return pixel_axes(shape(id), *whole) == pixel_axes(shape(node.inputs[0]), *whole);
        };
        if (!std::ranges::all_of(node.outputs, is_part)) return false;
        for (ValueId id : node.outputs) {
            Moved part{whole->height, whole->width, {}, whole->is_recounted};
            auto inner = std::ptrdiff_t(Shape(channel_extents(shape(id), *whole)).numel()) / outer;
            for (int64_t i = 0; i < outer; ++i) {
                auto begin = whole->channels.begin() + i * row + start;
                part.channels.insert(part.channels.end(), begin, begin + inner);
            }
            start += inner;
            note(id, std::move(part));
        }
        return true;
    }

    // A slice of channels split into one axis, with any step.
    bool follow_slice(const Node& node) {
        auto whole = images(node.inputs[0]);
        auto& from = shape(node.inputs[0]);
        if (!whole || node.inputs.size() > 1 || channel_extents(from, *whole).size() != 1) return false;
        auto ranges = ops::ranges_of(node.op->name, node.as<ops::Slice::Params>().items, from);
        auto is_whole = [&](size_t axis) {
            return ranges[axis].count == from[int(axis)] && ranges[axis].step == 1;
        };
        for (size_t axis = 0; axis < ranges.size(); ++axis)
            if (ranges[axis].dropped || (axis != ops::channel_axis && !is_whole(axis))) return false;
        auto& range = ranges[ops::channel_axis];
        Moved part{whole->height, whole->width, {}, whole->is_recounted};
        for (int64_t i = 0; i < range.count; ++i)
            part.channels.push_back(whole->channels[size_t(range.first + i * range.step)]);
        return note(node.outputs[0], std::move(part));
    }

    // Makes sure that the target has a value, if it was left out so far.
    void write(ValueId id) {
        if (!is_left_out(id)) return;
        if (is_shuffled_image(id)) return take(id, *moved_[size_t(id)]);
        auto is_copied = [&](ValueId value, int) { return is_left_out(value) && !is_shuffled_image(value); };
        for (NodeId move : grow_region(graph_, id, is_copied) | std::views::reverse) {
            for (ValueId input : graph_.node(move).inputs) write(input);
            rewrite_.copy(move);
            for (ValueId output : graph_.node(move).outputs) written_.insert(output);
        }
    }
    bool is_left_out(ValueId id) const { return is_moved(id) && !written_.contains(id); }
    bool is_shuffled_image(ValueId id) const {
        auto& moved = *moved_[size_t(id)];
        return moved.is_recounted && is_image(shape(id), moved);
    }

    void take(ValueId id, const Moved& moved) {
        std::vector<ValueId> images;
        for (auto& channel : moved.channels)
            if (std::ranges::find(images, channel.image) == images.end()) images.push_back(channel.image);
        auto params = std::make_shared<ops::TakeChannels::Params>();
        for (auto& channel : moved.channels) {
            int64_t place = channel.index;
            for (ValueId image : images) {
                if (image == channel.image) break;
                place += shape(image)[1];
            }
            params->channels.push_back(place);
        }
        NodeId added = rewrite_.target().add_node(ops::TakeChannels::info, params, rewrite_(images), {},
                                                  nullptr, &graph_.value(id).device);
        ValueId result = rewrite_.target().node(added).outputs[0];
        rewrite_.replace(id, result);
        for (NodeId move : grow_region(graph_, id, [&](ValueId value, int) { return is_moved(value); }))
            rewrite_.absorb(move, result);
        written_.insert(id);
    }

    const Graph& graph_;
    Rewrite rewrite_;
    std::vector<std::optional<Moved>> moved_;  // by value
    std::set<ValueId> written_;
};

}  // namespace

Graph fuse_channel_moves(Graph graph, const PassOptions& options) {
    // At other shapes the channel axis is unknown, and without convolutions images have one layout.
    if (!options.fixed_shapes || !prefers_layouts(graph)) return graph;
    return ChannelMoves(graph).run();
}

}  // namespace mge
