// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/memory/swap.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "libmge/compile/memory/plan_memory.h"
#include "libmge/compile/schedule.h"
#include "libmge/graph/readers.h"
#include "libmge/graph/rewrite.h"
#include "libmge/ops/move/to_device.h"

namespace mge {
namespace {

// For smaller values the latency of a copy exceeds its transfer time.
constexpr size_t smallest_value = size_t(1) << 20;
// A single swap may not lower the peak if several steps are equally full.
constexpr int patience = 8;

// A value leaves after node `last_reader` and returns before node `next_reader`.
struct Journey {
    ValueId value;
    NodeId last_reader, next_reader;
};

// The bytes alive on the devices, by step.
class Fullness {
public:
    Fullness(const Graph& graph, const CompileOptions& options)
        : graph_(graph),
          schedule_(schedule(graph, shared_memory(options))),
          readers_(readers_of_values(graph)),
          has_view_(graph.values().size()) {
        std::vector<DeviceId> devices;
        for (auto& step : schedule_.steps)
            if (!step.device.is_host() && std::ranges::count(devices, step.device) == 0)
                devices.push_back(step.device);
        for (DeviceId device : devices) note(device);
        for (ValueId source : schedule_.view_of)
            if (source != no_value) has_view_[size_t(source)] = true;
    }
    size_t peak() const { return peak_; }

    // Returns the largest value that could be away at the fullest step; of equal ones, that with the longest
    // absence.
    std::optional<Journey> best() const {
        std::optional<Journey> best;
        auto rank = [&](const Journey& j) {
            return std::tuple(graph_.value(j.value).spec.bytes(), j.next_reader - j.last_reader);
        };
        for (size_t id = 0; peak_ && id < graph_.values().size(); ++id)
            if (auto journey = journey_of(ValueId(id)); journey && (!best || rank(*best) < rank(*journey)))
                best = journey;
        return best;
    }

private:
    void note(DeviceId device) {
        std::vector<MemoryBlock> blocks;
        for (auto& buffer : schedule_.buffers)
            if (buffer.kind == Buffer::Kind::arena && buffer.device == device)
                blocks.push_back({buffer.bytes, buffer.first, buffer.last});
        auto live = live_bytes(blocks);
        auto top = std::ranges::max_element(live);
        if (top == live.end() || *top <= peak_) return;
        peak_ = *top;
        device_ = device;
        fullest_ = schedule_.steps[size_t(top - live.begin())].node;
    }

    bool may_travel(ValueId id) const {
        auto& value = graph_.value(id);
        int buffer = schedule_.buffer_of[size_t(id)];
        bool is_alone = schedule_.view_of[size_t(id)] == no_value && !has_view_[size_t(id)];
        return value.producer >= 0 && buffer >= 0 && is_alone && value.device == device_ &&
               value.spec.bytes() >= smallest_value &&
               schedule_.buffers[size_t(buffer)].kind == Buffer::Kind::arena;
    }

    std::optional<Journey> journey_of(ValueId id) const {
        if (!may_travel(id)) return std::nullopt;
        auto& readers = readers_[size_t(id)];
        auto next = std::ranges::lower_bound(readers, fullest_);
        if (next == readers.end() || *next == fullest_) return std::nullopt;
        NodeId last = next == readers.begin() ? graph_.value(id).producer : *std::prev(next);
        if (last >= fullest_) return std::nullopt;
        return Journey{id, last, *next};
    }

    const Graph& graph_;
    Schedule schedule_;
    std::vector<std::vector<NodeId>> readers_;  // by value, in order
    std::vector<bool> has_view_;                // by value
    DeviceId device_;
    NodeId fullest_ = -1;
    size_t peak_ = 0;
};

ValueId moved(Graph& graph, ValueId value, DeviceId to) {
    auto params = std::make_shared<const ops::ToDevice::Params>(ops::ToDevice::Params{to});
    std::string name = graph.value(value).name;
    NodeId node = graph.add_node(ops::ToDevice::info, std::move(params), {value}, std::move(name));
    return graph.node(node).outputs[0];
}

Graph with_journey(const Graph& graph, const Journey& journey) {
    Rewrite rewrite(graph);
    ValueId away = no_value, back = no_value;
    for (NodeId i = 0; size_t(i) < graph.nodes().size(); ++i) {
        if (i == journey.next_reader) back = moved(rewrite.target(), away, graph.value(journey.value).device);
        auto inputs = rewrite(graph.node(i).inputs);
        for (size_t k = 0; k < inputs.size(); ++k)
            if (back != no_value && graph.node(i).inputs[k] == journey.value) inputs[k] = back;
        rewrite.copy_with(i, graph.node(i).params, std::move(inputs));
        if (i == journey.last_reader) away = moved(rewrite.target(), rewrite(journey.value), host_device);
    }
    return rewrite.finish();
}

}  // namespace

Swapped swap_values(Graph graph, const CompileOptions& options) {
    Swapped best{std::move(graph)};
    Graph tried = best.graph;
    Fullness now(tried, options);
    size_t lowest = now.peak(), count = 0;
    auto journey = now.best();
    for (int in_vain = 0; journey && in_vain < patience; ++in_vain) {
        tried = with_journey(tried, *journey);
        ++count;
        Fullness then(tried, options);
        if (then.peak() < lowest) {
            lowest = then.peak();
            best = {tried, count};
            in_vain = -1;
        }
        journey = then.best();
    }
    return best;
}

}  // namespace mge
