// SPDX-License-Identifier: Apache-2.0
// Compilation stages that turn the graph into steps: their order, places, algorithms and threads.

#include <algorithm>
#include <set>
#include <utility>

#include "libmge/compile/bind_algorithms.h"
#include "libmge/compile/compilation.h"
#include "libmge/compile/memory/release_constants.h"
#include "libmge/compile/memory/upload.h"
#include "libmge/compile/surrounding.h"
#include "libmge/device/device.h"
#include "libmge/kernel/packed_copies.h"
#include "libmge/op/nothing_to_do.h"

namespace mge {
namespace {

bool is_idle(const Graph& graph, const Node& node) {
    TensorSpecs outputs;
    for (ValueId id : node.outputs) outputs.push_back(graph.value(id).spec);
    return has_nothing_to_do(*node.op, outputs);
}

// Passes may have used constants that are not operands of a step.
void verify_read(const Compilation& c, const std::set<const void*>& unread) {
    std::vector<std::span<const std::byte>> read;
    for (auto [address, bytes] : c.source.constants)
        if (!unread.contains(address)) read.push_back({static_cast<const std::byte*>(address), bytes});
    verify_constants(read, c.options.threads);
}

// Places have separate arenas: only operands connect them, and the order of effects.
StepThreads threads_of(const Compilation& c, const Step& step, std::span<const int> thread_of_place) {
    StepThreads threads{thread_of_place[index_of(step.device, c.places)], {}};
    auto invite = [&](int thread) {
        if (thread != threads.owner &&
            std::ranges::find(threads.participants, thread) == threads.participants.end())
            threads.participants.push_back(thread);
    };
    auto& node = c.graph.node(step.node);
    if (node.op->traits.effect) std::ranges::for_each(thread_of_place, invite);
    for (auto* ids : {&node.inputs, &node.outputs})
        for (ValueId id : *ids) {
            if (id == no_value || c.graph.value(id).is_constant()) continue;
            size_t place = index_of(c.graph.value(id).device, c.places);
            if (place < c.places.size()) invite(thread_of_place[place]);
        }
    return threads;
}

}  // namespace

size_t index_of(DeviceId place, std::span<const DeviceId> places) {
    return size_t(std::ranges::find(places, place) - places.begin());
}

bool are_on_host(std::span<const DeviceId> places) {
    return std::ranges::all_of(places, [](DeviceId place) { return place.is_host(); });
}

namespace stage {

void make_schedule(Compilation& c) {
    c.order.has_overlapped_copies =
        c.options.plan.copies_beside && !c.options.force_dynamic_alloc && has_overlapped_copies(c.graph);
    c.order.schedule = schedule(c.graph, shared_memory(c.options), c.ports.is_callback_output);
}

// Finds at least one place.
void find_places(Compilation& c) {
    auto add = [&](DeviceId place) {
        if (index_of(place, c.places) == c.places.size()) c.places.push_back(place);
    };
    for (ValueId id : c.graph.inputs()) add(c.graph.value(id).device);
    for (auto& step : c.order.schedule.steps) {
        add(step.device);
        add(c.graph.place(c.graph.node(step.node)));
    }
    for (ValueId id : c.graph.outputs()) add(c.graph.value(id).device);
    if (c.places.empty()) add(c.options.device);
}

void check_recording(Compilation& c) {
    if (!c.options.comp_node_seq_record_level) return;
    if (c.options.force_dynamic_alloc)
        return c.ignore("comp_node_seq_record_level", "1", "force_dynamic_alloc moves values about");
    auto& steps = c.order.schedule.steps;
    auto it = std::ranges::find_if(steps, &Step::is_dynamic);
    if (it == steps.end()) return;
    std::string what = text("'", c.graph.node(it->node).op->name, "' finds out its shape at run time");
    if (c.options.comp_node_seq_record_level == 2)
        throw_value_error(named(c.options, "comp_node_seq_record_level"), "2 needs fixed shapes, but ", what);
    c.ignore("comp_node_seq_record_level", "1", what);
}

void check_outputs(Compilation& c) {
    if (!c.options.force_output_use_user_specified_memory) return;
    for (size_t i = 0; i < c.graph.outputs().size(); ++i)
        if (c.order.schedule.is_dynamic[size_t(c.graph.outputs()[i])])
            throw_value_error(named(c.options, "force_output_use_user_specified_memory"),
                              "the shape of output ", i,
                              " is known only at run time, so no memory can be given for it");
}

void upload_constants(Compilation& c) {
    if (are_on_host(c.places)) return;
    auto uploads = c.options.uploads ? c.options.uploads : std::make_shared<ConstantUploads>();
    auto& given = c.source.constants;
    for (size_t i = 0; i < c.graph.values().size(); ++i) {
        auto& value = c.graph.value(ValueId(i));
        if (!value.is_constant() || value.device.is_host()) continue;
        Tensor uploaded = uploads->find(value.constant, value.device);
        if (given.contains(value.constant.address())) given.emplace(uploaded.address(), value.spec.bytes());
        value.constant = std::move(uploaded);
    }
}

void bind(Compilation& c) {
    auto& schedule = c.order.schedule;
    c.binding.is_released.resize(c.graph.values().size());
    std::vector<std::weak_ptr<const Program>> inside;
    SurroundingProgram around{&c.options, c.source.run_bytes, &inside};
    c.options.select.around = &around;
    if (c.options.keeps_weights || c.check) {
        c.binding.choices = bind_algorithms(c.graph, schedule, c.options, [](size_t, const Prepared&) {});
        verify_read(c, {});
    } else {
        ConstantRelease release(c.graph, schedule);
        c.binding.choices = bind_algorithms(c.graph, schedule, c.options,
                                            [&](size_t i, auto& prepared) { release.bound(i, prepared); });
        verify_read(c, release.unread());
        c.binding.is_released = std::move(release).released();
    }
    c.options.select.around = nullptr;
    for (auto& program : inside)
        if (auto kept = program.lock()) c.binding.inside.push_back(std::move(kept));
}

void make_steps(Compilation& c) {
    for (size_t i = 0; i < c.order.schedule.steps.size(); ++i) {
        auto& scheduled = c.order.schedule.steps[i];
        auto& node = c.graph.node(scheduled.node);
        CompiledStep step{scheduled.node,
                          scheduled.is_dynamic,
                          index_of(scheduled.device, c.places),
                          std::move(c.binding.choices[i]),
                          {},
                          {},
                          c.placement.workspaces[i]};
        for (ValueId id : node.inputs) step.inputs.push_back(c.placement.locate(id));
        for (ValueId id : node.outputs) step.outputs.push_back(c.placement.locate(id));
        step.is_idle = is_idle(c.graph, node);
        c.steps.push_back(std::move(step));
    }
}

void plan_copies(Compilation& c) {
    if (c.order.has_overlapped_copies) c.enqueue_plan.copies = plan_lanes(c.graph, c.steps, c.places);
}

void assign_threads(Compilation& c) {
    auto thread_of_place = threads_of_places(c.places, c.options.async_exec_level);
    if (c.options.async_exec_level > 1 && thread_of_place[0] == 0)
        c.ignore("async_exec_level", text(c.options.async_exec_level), "the program runs at one place");
    if (!c.options.comp_seq_sync_device && are_on_host(c.places))
        c.ignore("comp_seq_sync_device", "false", "the work of a CPU is done when it is enqueued");
    if (thread_of_place[0] == 0) return;
    for (auto& step : c.order.schedule.steps)
        c.enqueue_plan.threads.push_back(threads_of(c, step, thread_of_place));
}

void check_files(Compilation& c) { require_whole_files(c.source.constants); }

void take_arenas(Compilation& c) {
    for (size_t i = 0; i < c.places.size(); ++i)
        c.arenas.push_back(queue_of(c.places[i]).allocate(c.placement.arena_bytes[i]));
}

}  // namespace stage
}  // namespace mge
