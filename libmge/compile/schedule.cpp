// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/schedule.h"

#include <algorithm>

#include "libmge/device/device.h"
#include "libmge/graph/copy_node.h"
#include "libmge/graph/infer.h"
#include "libmge/graph/node_problem.h"
#include "libmge/graph/readers.h"
#include "libmge/op/view_offsets.h"

namespace mge {
namespace {

class Scheduler {
public:
    Scheduler(const Graph& graph, bool shares_views, const std::vector<bool>& passing)
        : graph_(graph), shares_views_(shares_views), passing_(passing) {
        result_.buffer_of.assign(graph.values().size(), -1);
        result_.offset_of.assign(graph.values().size(), 0);
        result_.view_of.assign(graph.values().size(), no_value);
        result_.is_dynamic.assign(graph.values().size(), false);
        for (ValueId id : graph.inputs()) {
            result_.is_dynamic[size_t(id)] = !graph.value(id).spec.shape.is_known();
            has_open_inputs_ |= result_.is_dynamic[size_t(id)];
        }
    }

    Schedule run(bool overwrites) && {
        order_steps();
        make_buffers();
        extend_lifetimes();
        if (overwrites) overwrite();
        return drop_merged();
    }

private:
    void overwrite() {
        values_of_ = values_by_buffer();
        for (size_t i = 0; i < result_.steps.size(); ++i)
            if (!result_.steps[i].is_dynamic) share_in_place(int(i));
        for (size_t i = 0; i < result_.steps.size(); ++i)
            if (!result_.steps[i].is_dynamic) take_over_inputs(int(i));
    }

    // Values by buffer. Buffers grow only by taking over others.
    std::vector<std::vector<ValueId>> values_by_buffer() const {
        std::vector<std::vector<ValueId>> values(result_.buffers.size());
        for (size_t id = 0; id < result_.buffer_of.size(); ++id)
            if (int at = result_.buffer_of[id]; at >= 0) values[size_t(at)].push_back(ValueId(id));
        return values;
    }
    Buffer& buffer(ValueId id) { return result_.buffers[size_t(result_.buffer_of[size_t(id)])]; }
    bool is_view(const Node& node) const { return result_.view_of[size_t(node.outputs[0])] != no_value; }

    // Marks values whose memory callers receive as outputs: they must not be part of larger memory.
    std::vector<bool> handed_out() const {
        std::vector<bool> result(graph_.values().size());
        for (ValueId id : graph_.outputs()) {
            result[size_t(id)] = true;
            for (auto* node = maker_of(graph_, id); node && node->op->traits.view;
                 node = maker_of(graph_, id)) {
                id = node->inputs[0];
                result[size_t(id)] = true;
            }
        }
        return result;
    }

    // Returns the offsets of its outputs in its first input; empty if the node is a step.
    std::vector<size_t> offsets_of_views(const Node& node) const {
        auto& op = *node.op;
        if (!shares_views_ || (!op.traits.view && !op.part_of_input)) return {};
        if (node.inputs.empty() || node.inputs[0] == no_value) return {};
        auto is_handed_out = [&](ValueId id) { return is_handed_out_[size_t(id)]; };
        if (!op.traits.view && std::ranges::any_of(node.outputs, is_handed_out)) return {};
        return view_offsets(op, node.params.get(), graph_.value(node.inputs[0]).spec,
                            specs_of(graph_, node.outputs));
    }

    void order_steps() {
        for (size_t i = 0; i < graph_.nodes().size(); ++i) {
            auto& node = graph_.node(NodeId(i));
            bool dynamic = node.op->traits.runtime_shape || is_unresolved(node);
            for (ValueId id : node.inputs) dynamic |= id != no_value && result_.is_dynamic[size_t(id)];
            for (ValueId id : node.outputs) dynamic |= !graph_.value(id).spec.shape.is_known();
            // If the program has open inputs, known shapes hold at all sizes and are planned.
            for (ValueId id : node.outputs)
                result_.is_dynamic[size_t(id)] =
                    dynamic && !(has_open_inputs_ && graph_.value(id).spec.shape.is_known());
            auto offsets = dynamic ? std::vector<size_t>() : offsets_of_views(node);
            if (!offsets.empty())
                note_views(node, offsets);
            else
                result_.steps.push_back({NodeId(i), dynamic, running_place(graph_, node)});
        }
    }

    void note_views(const Node& node, const std::vector<size_t>& offsets) {
        size_t first = result_.offset_of[size_t(node.inputs[0])];
        for (size_t i = 0; i < offsets.size(); ++i) {
            auto to = size_t(node.outputs[i]);
            result_.view_of[to] = node.inputs[0];
            result_.offset_of[to] = first + offsets[i];
        }
    }

    int add_buffer(Buffer::Kind kind, ValueId id, int first) {
        auto& value = graph_.value(id);
        result_.buffers.push_back({kind, value.spec.bytes(), first, first, value.device});
        result_.buffer_of[size_t(id)] = int(result_.buffers.size()) - 1;
        return result_.buffer_of[size_t(id)];
    }

    void make_buffers() {
        for (size_t i = 0; i < graph_.inputs().size(); ++i) {
            if (result_.is_dynamic[size_t(graph_.inputs()[i])]) continue;
            add_buffer(Buffer::Kind::input, graph_.inputs()[i], 0);
            result_.buffers.back().port = int(i);
        }
        for (size_t i = 0; i < graph_.values().size(); ++i)
            if (graph_.value(ValueId(i)).is_constant()) {
                add_buffer(Buffer::Kind::constant, ValueId(i), 0);
                result_.buffers.back().constant = ValueId(i);
            }
        int step = 0;
        for (size_t i = 0; i < graph_.nodes().size(); ++i) {
            auto& node = graph_.node(NodeId(i));
            if (is_view(node)) {
                for (ValueId id : node.outputs)
                    result_.buffer_of[size_t(id)] = result_.buffer_of[size_t(node.inputs[0])];
                continue;
            }
            for (ValueId id : node.outputs)
                if (!result_.is_dynamic[size_t(id)]) add_buffer(Buffer::Kind::arena, id, step);
            ++step;
        }
    }

    void extend_lifetimes() {
        for (size_t i = 0; i < result_.steps.size(); ++i)
            for (ValueId id : graph_.node(result_.steps[i].node).inputs)
                if (id != no_value && result_.buffer_of[size_t(id)] >= 0) {
                    auto& last = buffer(id).last;
                    last = std::max(last, int(i));
                }
        for (size_t i = 0; i < graph_.outputs().size(); ++i) {
            ValueId id = graph_.outputs()[i];
            if (result_.buffer_of[size_t(id)] < 0 || (i < passing_.size() && passing_[i])) continue;
            buffer(id).last = int(result_.steps.size());
            if (buffer(id).kind == Buffer::Kind::arena) buffer(id).kind = Buffer::Kind::output;
        }
    }

    // True if the value has no readers after the step, and its memory is of that kind.
    bool is_free(ValueId input, int step, Buffer::Kind kind) {
        return result_.buffer_of[size_t(input)] >= 0 && buffer(input).kind == kind &&
               buffer(input).last == step;
    }

    void share_in_place(int step) {
        auto& node = graph_.node(result_.steps[size_t(step)].node);
        std::vector<int> taken;  // no two outputs may reuse the same buffer
        for (auto [output, input] : in_place_pairs(graph_, node, result_.view_of)) {
            ValueId to = node.outputs[size_t(output)], from = node.inputs[size_t(input)];
            int merged = result_.buffer_of[size_t(to)];
            if (merged < 0 || result_.buffers[size_t(merged)].first != step) continue;
            if (!is_free(from, step, Buffer::Kind::arena)) continue;
            int kept = result_.buffer_of[size_t(from)];
            if (std::find(taken.begin(), taken.end(), kept) != taken.end()) continue;
            taken.push_back(kept);
            auto &a = result_.buffers[size_t(kept)], &b = result_.buffers[size_t(merged)];
            a.last = b.last;
            a.kind = b.kind;
            auto &more = values_of_[size_t(merged)], &all = values_of_[size_t(kept)];
            for (ValueId id : more) result_.buffer_of[size_t(id)] = kept;
            all.insert(all.end(), more.begin(), more.end());
            more.clear();
        }
    }

    void take_over_inputs(int step) {
        auto& node = graph_.node(result_.steps[size_t(step)].node);
        std::vector<int> taken;  // buffers of both kinds
        auto is_taken = [&](int at) { return std::find(taken.begin(), taken.end(), at) != taken.end(); };
        for (auto [output, input] : in_place_pairs(graph_, node, result_.view_of)) {
            ValueId to = node.outputs[size_t(output)], from = node.inputs[size_t(input)];
            int at = result_.buffer_of[size_t(to)];
            if (at < 0 || is_taken(at)) continue;
            auto& buffer = result_.buffers[size_t(at)];
            if (buffer.kind != Buffer::Kind::output || buffer.first != step) continue;
            if (!is_free(from, step, Buffer::Kind::input)) continue;
            int given = result_.buffer_of[size_t(from)];
            if (is_taken(given)) continue;
            taken.insert(taken.end(), {at, given});
            result_.takeovers.push_back({to, result_.buffers[size_t(given)].port});
        }
    }

    Schedule drop_merged() {
        std::vector<int> uses(result_.buffers.size()), moved(result_.buffers.size(), -1);
        for (int id : result_.buffer_of)
            if (id >= 0) ++uses[size_t(id)];
        std::vector<Buffer> kept;
        for (size_t i = 0; i < uses.size(); ++i)
            if (uses[i]) {
                moved[i] = int(kept.size());
                kept.push_back(result_.buffers[i]);
            }
        for (int& id : result_.buffer_of)
            if (id >= 0) id = moved[size_t(id)];
        result_.buffers = std::move(kept);
        return std::move(result_);
    }

    const Graph& graph_;
    bool shares_views_, has_open_inputs_ = false;
    const std::vector<bool>& passing_;
    std::vector<bool> is_handed_out_ = handed_out();
    std::vector<std::vector<ValueId>> values_of_;  // by buffer
    Schedule result_;
};

// Returns results of a node with the operands that they might overwrite, best first.
std::vector<InPlace> candidates(const Node& node) {
    std::vector<InPlace> pairs(node.op->in_place.begin(), node.op->in_place.end());
    if (pairs.empty() && node.op->traits.elementwise)
        for (size_t i = 0; i < node.inputs.size(); ++i) pairs.push_back({0, int(i)});
    std::erase_if(pairs, [&](InPlace pair) {
        return size_t(pair.output) >= node.outputs.size() || size_t(pair.input) >= node.inputs.size() ||
               node.inputs[size_t(pair.input)] == no_value;
    });
    return pairs;
}

// GPU convolution libraries do not guarantee to read a residual before they overwrite it.
bool is_for_libraries(const Node& node, DeviceId place) {
    return node.op->layouts && node.op->layouts->is_preferred && !place.is_host() &&
           device(place).compute_capability() > 0;
}

}  // namespace

ValueId owner_of(ValueId id, const std::vector<ValueId>& view_of) {
    while (view_of[size_t(id)] != no_value) id = view_of[size_t(id)];
    return id;
}

std::vector<InPlace> in_place_pairs(const Graph& graph, const Node& node,
                                    const std::vector<ValueId>& view_of) {
    auto pairs = candidates(node);
    std::erase_if(pairs, [&](InPlace pair) {
        ValueId input = node.inputs[size_t(pair.input)], owner = owner_of(input, view_of);
        auto &from = graph.value(input), &to = graph.value(node.outputs[size_t(pair.output)]);
        if (is_for_libraries(node, to.device)) return true;
        auto &a = from.spec, &b = to.spec;
        if (!(from.device == to.device) || !a.shape.is_known() || !b.shape.is_known() ||
            a.bytes() != b.bytes() || size_of(a.dtype) != size_of(b.dtype) || !(a.layout == b.layout) ||
            graph.value(owner).spec.bytes() != b.bytes())
            return true;
        // Another input in the same memory, read at other positions, would see the new values.
        auto reads_elsewhere = [&](ValueId other) {
            return other != no_value && other != input && owner_of(other, view_of) == owner;
        };
        return std::ranges::any_of(node.inputs, reads_elsewhere) ||
               (std::ranges::count(node.inputs, input) > 1 && !node.op->traits.elementwise);
    });
    return pairs;
}

SharedMemory shared_memory(const CompileOptions& options) {
    bool shares = options.plan.in_place;
    // Without a plan every result is a separate block.
    return {shares, shares && !options.force_dynamic_alloc};
}

Schedule schedule(const Graph& graph, const SharedMemory& shared, const std::vector<bool>& passing) {
    return Scheduler(graph, shared.views, passing).run(shared.overwrites);
}

}  // namespace mge
