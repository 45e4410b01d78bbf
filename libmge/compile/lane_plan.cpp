// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/lane_plan.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "libmge/compile/memory/location.h"
#include "libmge/compile/schedule.h"
#include "libmge/device/copying.h"
#include "libmge/graph/node_problem.h"
#include "libmge/ops/move/to_device.h"

namespace mge {
namespace {

struct Access {
    Location::Kind kind;
    size_t at;     // position; for ports, the index
    size_t place;  // place of the memory
    size_t begin, end;
    bool writes;
};

bool collide(const Access& a, const Access& b) {
    return a.kind == b.kind && a.at == b.at && a.begin < b.end && b.begin < a.end && (a.writes || b.writes);
}

class Planner {
public:
    Planner(const Graph& graph, std::span<const CompiledStep> steps, std::span<const DeviceId> places)
        : graph_(graph), steps_(steps), places_(places) {}

    LanePlan run() && {
        plan_.steps.resize(steps_.size());
        for (size_t i = 0; i < steps_.size(); ++i) {
            note_accesses(steps_[i]);
            note_copy(i);
        }
        if (plan_.copies.empty() ||
            std::ranges::any_of(steps_, [&](auto& step) { return reaches_over(step); }))
            return {};
        known_.assign(lane_count(), std::vector<int>(lane_count(), -1));
        known_at_.resize(steps_.size());
        for (size_t i = 0; i < steps_.size(); ++i) order(i);
        for (auto& copy : plan_.copies) copy.is_last = may_be_last(copy);
        for (auto& copy : plan_.copies) order_after_previous_run(copy);
        return std::move(plan_);
    }

private:
    // Lanes of the steps of each place, then uploads, then downloads.
    size_t lane_count() const { return 3 * places_.size(); }
    size_t lane_of(size_t step) const {
        if (int copy = plan_.steps[step].copy; copy >= 0) {
            auto& c = plan_.copies[size_t(copy)];
            return 3 * c.place + (c.is_upload ? 1 : 2);
        }
        return 3 * steps_[step].place;
    }
    bool is_copy(size_t step) const { return plan_.steps[step].copy >= 0; }
    bool is_on_host(size_t place) const { return places_[place].is_host(); }

    void note_accesses(const CompiledStep& step) {
        std::vector<Access> accesses;
        auto& node = graph_.node(step.node);
        auto add = [&](const Location& location, size_t bytes, size_t place, bool writes) {
            bool is_memory =
                location.kind == Location::Kind::arena || location.kind == Location::Kind::output;
            if (!is_memory || bytes == 0) return;
            bool is_arena = location.kind == Location::Kind::arena;
            size_t begin = (is_arena ? location.at : 0) + location.offset;
            accesses.push_back({location.kind, is_arena ? location.place : location.at, place, begin,
                                begin + bytes, writes});
        };
        auto add_all = [&](const std::vector<ValueId>& ids, const std::vector<Location>& locations,
                           bool writes) {
            for (size_t i = 0; i < ids.size(); ++i) {
                if (ids[i] == no_value || locations[i].kind == Location::Kind::dynamic) continue;
                auto& value = graph_.value(ids[i]);
                add(locations[i], value.spec.bytes(), index_of(value.device, places_), writes);
            }
        };
        add_all(node.inputs, step.inputs, false);
        add_all(node.outputs, step.outputs, true);
        if (step.choice.algorithm) add(step.workspace, step.choice.prepared.workspace(), step.place, true);
        accesses_.push_back(std::move(accesses));
    }

    void note_copy(size_t i) {
        auto& step = steps_[i];
        auto& node = graph_.node(step.node);
        if (step.is_dynamic || step.is_idle || !is_overlapped_copy(graph_, node)) return;
        auto &from = graph_.value(node.inputs[0]), &to = graph_.value(node.outputs[0]);
        bool is_upload = from.device.is_host();
        auto is_shared = [](const Location& location) { return location.kind != Location::Kind::arena; };
        bool is_source_shared = is_shared(step.inputs[0]), is_target_shared = is_shared(step.outputs[0]);
        plan_.steps[i].copy = int(plan_.copies.size());
        plan_.copies.push_back({i, index_of(is_upload ? to.device : from.device, places_), to.spec.bytes(),
                                is_upload, is_upload ? is_source_shared : is_target_shared,
                                is_upload ? is_target_shared : is_source_shared});
    }

    // Host work is complete when its call returns: only copies connect it to devices.
    bool reaches_over(const CompiledStep& step) const {
        auto i = size_t(&step - steps_.data());
        return !is_copy(i) && is_on_host(step.place) &&
               std::ranges::any_of(accesses_[i], [&](auto& access) { return !is_on_host(access.place); });
    }

    enum class Wait : uint8_t { none, of_lane, of_host };
    // Says who waits if step `i` follows step `k`. Host memory access by steps other than copies is complete
    // when they are enqueued.
    Wait wait_for(size_t i, size_t k) const {
        Wait wait = Wait::none;
        for (auto& a : accesses_[i])
            for (auto& b : accesses_[k]) {
                if (!collide(a, b) || (is_on_host(a.place) && !is_copy(k))) continue;
                if (is_on_host(a.place) && !is_copy(i)) return Wait::of_host;
                wait = Wait::of_lane;
            }
        return wait;
    }

    void order_after(size_t i, size_t k) {
        auto& known = known_[lane_of(i)];
        if (lane_of(k) == lane_of(i) || known[lane_of(k)] >= int(k)) return;
        Wait wait = wait_for(i, k);
        if (wait == Wait::none) return;
        auto& step = plan_.steps[i];
        (wait == Wait::of_host ? step.host_waits : step.lane_waits).push_back(k);
        plan_.steps[k].is_waited_for = true;
        for (size_t lane = 0; lane < known.size(); ++lane)
            known[lane] = std::max(known[lane], known_at_[k][lane]);
    }

    void order(size_t i) {
        if (is_copy(i)) {
            for (size_t k = i; k-- > 0;) order_after(i, k);
        } else {
            for (size_t c = plan_.copies.size(); c-- > 0;)
                if (plan_.copies[c].step < i) order_after(i, plan_.copies[c].step);
        }
        auto& known = known_[lane_of(i)];
        known[lane_of(i)] = int(i);
        known_at_[i] = known;
    }

    bool collide_at(size_t i, size_t k, bool on_device_alone) const {
        return std::ranges::any_of(accesses_[i], [&](auto& a) {
            return !(on_device_alone && is_on_host(a.place)) &&
                   std::ranges::any_of(accesses_[k], [&](auto& b) { return collide(a, b); });
        });
    }

    bool may_be_last(const LanePlan::Copy& copy) const {
        if (copy.is_upload || !copy.is_host_shared) return false;
        for (size_t k = copy.step + 1; k < steps_.size(); ++k)
            if (collide_at(copy.step, k, false)) return false;
        return true;
    }

    // Notes the last access in each lane. Accesses earlier in this run are ordered anyway. The next run waits
    // for copies that still access a context's host memory.
    void order_after_previous_run(const LanePlan::Copy& copy) {
        std::vector<bool> is_known(lane_count());
        is_known[lane_of(copy.step)] = true;
        for (size_t k = steps_.size(); k-- > copy.step + 1;) {
            if (is_known[lane_of(k)] || !collide_at(copy.step, k, true)) continue;
            is_known[lane_of(k)] = !is_last(k);
            plan_.steps[copy.step].previous_run_waits.push_back(k);
            plan_.steps[k].is_waited_for = true;
        }
    }
    bool is_last(size_t step) const {
        return is_copy(step) && plan_.copies[size_t(plan_.steps[step].copy)].is_last;
    }

    const Graph& graph_;
    std::span<const CompiledStep> steps_;
    std::span<const DeviceId> places_;
    std::vector<std::vector<Access>> accesses_;  // by step
    std::vector<std::vector<int>> known_;        // by lane: the last step of each lane that it follows
    std::vector<std::vector<int>> known_at_;     // the same by step, at its end
    LanePlan plan_;
};

}  // namespace

bool is_overlapped_copy(const Graph& graph, const Node& node) {
    if (node.op != &ops::ToDevice::info) return false;
    DeviceId from = running_place(graph, node), to = graph.place(node);
    if (from.is_host() == to.is_host()) return false;
    return copying_device(from.is_host() ? to : from);
}

bool has_overlapped_copies(const Graph& graph) {
    return std::ranges::any_of(graph.nodes(), [&](auto& node) { return is_overlapped_copy(graph, node); });
}

LanePlan plan_lanes(const Graph& graph, std::span<const CompiledStep> steps,
                    std::span<const DeviceId> places) {
    return Planner(graph, steps, places).run();
}

namespace {

// The bytes alive at each step, and their maximum.
struct Alive {
    std::vector<size_t> bytes;
    size_t most;

    Alive(std::span<const MemoryBlock> blocks, size_t place) {
        std::vector<MemoryBlock> own;
        std::ranges::copy_if(blocks, std::back_inserter(own),
                             [&](auto& block) { return block.place == place; });
        bytes = live_bytes(own);
        most = std::ranges::max(bytes);
    }
    bool fits(int step, size_t more) const {
        return step >= 0 && step < int(bytes.size()) && bytes[size_t(step)] + align_up(more) <= most;
    }
    // Extends a life from `begin` in one direction by at most `most_steps` steps. Returns by how many it
    // fits.
    int take(int begin, int by, int most_steps, size_t more) {
        int taken = 0;
        for (int at = begin; taken < most_steps && fits(at, more); at += by, ++taken)
            bytes[size_t(at)] += align_up(more);
        return taken;
    }
};

}  // namespace

std::vector<MemoryBlock> with_slack_for_copies(std::vector<MemoryBlock> blocks, const Graph& graph,
                                               const Schedule& schedule, std::span<const int> block_of,
                                               CopySlack slack) {
    std::vector<std::optional<Alive>> alive;
    for (int i = 0; i < int(schedule.steps.size()); ++i) {
        auto& node = graph.node(schedule.steps[size_t(i)].node);
        if (schedule.steps[size_t(i)].is_dynamic || !is_overlapped_copy(graph, node)) continue;
        bool is_upload = running_place(graph, node).is_host();
        int at = block_of[size_t(is_upload ? node.outputs[0] : node.inputs[0])];
        if (at < 0) continue;
        auto& block = blocks[size_t(at)];
        if ((is_upload ? block.first : block.last) != i) continue;
        bool is_of_input = is_upload && graph.value(node.inputs[0]).producer < 0;
        if (is_of_input && align_up(block.bytes) <= slack.spare) {
            slack.spare -= align_up(block.bytes);
            block.first = 0;
            block.last = int(schedule.steps.size()) - 1;
            continue;
        }
        if (alive.size() <= block.place) alive.resize(block.place + 1);
        auto& there = alive[block.place];
        if (!there) there.emplace(blocks, block.place);
        if (is_upload)
            block.first -= there->take(block.first - 1, -1, slack.steps, block.bytes);
        else
            block.last += there->take(block.last + 1, 1, slack.steps, block.bytes);
    }
    return blocks;
}

}  // namespace mge
