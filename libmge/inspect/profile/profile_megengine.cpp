// SPDX-License-Identifier: Apache-2.0
// MegEngine's graph profile (GraphProfiler.to_json_full): "graph_exec" contains operators, variables and
// their order, "profiler" the times of each operator by device and by host thread, and its footprint.

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "libmge/base/error.h"
#include "libmge/inspect/profile/profile_json.h"

namespace mge {
namespace {

using Ids = std::unordered_map<std::string_view, int>;

class MegEngineReader {
public:
    explicit MegEngineReader(const JsonDocument& document)
        : document_(document), root_(document.root()), budget_(document.label()) {}

    Profile read() {
        profile_.format = Profile::Format::megengine;
        profile_.runs_total = 1;
        auto graph = root_.at("graph_exec");
        for (auto json : graph.at("var").members("graph_exec.var")) read_value(json);
        for (auto json : graph.at("operator").members("graph_exec.operator")) read_operator(json);
        std::vector<bool> is_listed(profile_.steps.size());
        for (auto json : graph.at("comp_seq").items("graph_exec.comp_seq")) {
            int step = find(steps_, json.text("comp_seq"), "comp_seq");
            if (is_listed[size_t(step)])
                refuse(text("lists operator '", profile_.steps[size_t(step)].id, "' twice in comp_seq"));
            is_listed[size_t(step)] = true;
            profile_.order.push_back(step);
        }
        refuse_cycles();
        refuse_forwarding_cycles();
        if (auto chunks = graph.find("mem_chunk")) read_chunks(*chunks);
        auto profiler = root_.at("profiler");
        read_times(profiler.at("device"), ProfileSide::device);
        read_times(profiler.at("host"), ProfileSide::host);
        if (auto footprints = profiler.find("opr_footprint"))
            for (auto json : footprints->members("profiler.opr_footprint")) read_footprint(json);
        if (auto inside = profiler.find("opr_internal_pf"); inside && !inside->is_null())
            for (auto json : inside->members("profiler.opr_internal_pf")) read_inside(json);
        return std::move(profile_);
    }

private:
    [[noreturn]] void refuse(const std::string& what) {
        throw ModelError(text("'", document_.label(), "' ", what));
    }

    int find(const Ids& ids, std::string_view id, const char* what) {
        auto found = ids.find(id);
        if (found == ids.end()) refuse(text("names '", id, "' in ", what, ", which it does not have"));
        return found->second;
    }

    void add_id(Ids& ids, JsonValue json, const char* what) {
        budget_.spend(64);
        if (!ids.emplace(json.key(), int(ids.size())).second)
            refuse(text("has ", what, " '", json.key(), "' twice"));
    }

    void read_value(JsonValue json) {
        budget_.spend(sizeof(ProfileValue));
        add_id(values_, json, "variable");
        ProfileValue value;
        value.id = std::string(json.key());
        if (auto name = json.find("name")) value.name = read_text(*name, "var.name", budget_);
        if (auto device = json.find("comp_node")) value.device = read_text(*device, "var.comp_node", budget_);
        auto plan = json.find("mem_plan");
        if (plan && !plan->is_null()) {
            value.chunk = read_text(plan->at("mem_chunk_id"), "mem_plan.mem_chunk_id", budget_);
            value.offset = plan->at("offset_byte").integer("mem_plan.offset_byte");
            auto layout = plan->at("layout");
            value.dtype = read_text(layout.at("dtype"), "layout.dtype", budget_);
            value.shape = read_extents(layout.at("shape"), "layout.shape", budget_);
            value.strides = read_extents(layout.at("stride"), "layout.stride", budget_);
        }
        value.place = is_persistent(json) ? "constant" : "arena";
        auto forwarded = json.find("mem_readonly_fwd_src");
        forwarded_.push_back(forwarded && !forwarded->is_null() ? forwarded->text("mem_readonly_fwd_src")
                                                                : std::string_view{});
        profile_.values.push_back(std::move(value));
    }

    static bool is_persistent(JsonValue json) {
        auto flags = json.find("flag");
        if (!flags) return false;
        for (auto flag : flags->items("var.flag"))
            if (flag.is_text() && flag.text("var.flag") == "PERSISTENT_DEVICE_VALUE") return true;
        return false;
    }

    // A chunk lives from the first operator that writes one of its variables to the last that reads one. The
    // variable that owns it represents all of them.
    void read_chunks(JsonValue json) {
        struct Life {
            int first = -1, last = -1;
        };
        std::unordered_map<std::string_view, Life> lives;
        for (size_t at = 0; at < profile_.order.size(); ++at) {
            auto& step = profile_.steps[size_t(profile_.order[at])];
            for (auto* ids : {&step.inputs, &step.outputs})
                for (int id : *ids) {
                    budget_.spend(16);
                    auto& life = lives[profile_.values[size_t(id)].chunk];
                    if (life.first < 0) life.first = int(at);
                    life.last = int(at);
                }
        }
        for (auto chunk : json.members("graph_exec.mem_chunk")) {
            int64_t size = chunk.at("size").integer("mem_chunk.size");
            if (size < 0) refuse(text("has memory chunk '", chunk.key(), "' of negative size"));
            auto owner = values_.find(chunk.at("owner_var").text("mem_chunk.owner_var"));
            auto life = lives.find(chunk.key());
            if (owner == values_.end() || life == lives.end()) continue;
            auto& value = profile_.values[size_t(owner->second)];
            value.bytes = size;
            value.first_step = life->second.first;
            value.last_step = life->second.last;
        }
    }

    void read_operator(JsonValue json) {
        budget_.spend(sizeof(ProfileStep));
        add_id(steps_, json, "operator");
        ProfileStep step;
        step.id = std::string(json.key());
        step.name = read_text(json.at("name"), "operator.name", budget_);
        step.type = read_text(json.at("type"), "operator.type", budget_);
        step.inputs = value_ids(json.at("input"), "operator.input");
        step.outputs = value_ids(json.at("output"), "operator.output");
        profile_.steps.push_back(std::move(step));
    }

    std::vector<int> value_ids(JsonValue json, const char* what) {
        std::vector<int> ids;
        for (auto item : json.items(what)) {
            budget_.spend(2 * sizeof(int));
            ids.push_back(find(values_, item.text(what), what));
        }
        return ids;
    }

    // Operators in an order in which each comes behind those it needs: one that never comes is in a cycle.
    void refuse_cycles() {
        size_t n = profile_.steps.size();
        std::vector<int> producer(profile_.values.size(), -1);
        for (size_t i = 0; i < n; ++i)
            for (int id : profile_.steps[i].outputs) {
                if (producer[size_t(id)] >= 0)
                    refuse(
                        text("has two operators that make variable '", profile_.values[size_t(id)].id, "'"));
                producer[size_t(id)] = int(i);
            }
        std::vector<int> missing(n, 0);
        std::vector<std::vector<int>> readers(n);
        for (size_t i = 0; i < n; ++i)
            for (int id : profile_.steps[i].inputs)
                if (int from = producer[size_t(id)]; from >= 0) {
                    budget_.spend(2 * sizeof(int));
                    readers[size_t(from)].push_back(int(i));
                    ++missing[i];
                }
        std::vector<int> ready;
        for (size_t i = 0; i < n; ++i)
            if (!missing[i]) ready.push_back(int(i));
        for (size_t done = 0; done < ready.size(); ++done)
            for (int reader : readers[size_t(ready[done])])
                if (!--missing[size_t(reader)]) ready.push_back(reader);
        if (ready.size() == n) return;
        auto stuck = size_t(std::ranges::find_if(missing, [](int m) { return m > 0; }) - missing.begin());
        refuse(text("has operators that need their own results: '", profile_.steps[stuck].id,
                    "' is in or after a cycle"));
    }

    // Chains of "this variable uses the memory of that one" must end.
    void refuse_forwarding_cycles() {
        constexpr int unknown = 0, walking = 1, fine = 2;
        std::vector<int> state(forwarded_.size(), unknown), path;
        for (size_t i = 0; i < forwarded_.size(); ++i) {
            path.clear();
            for (size_t at = i; state[at] != fine;) {
                if (state[at] == walking)
                    refuse(
                        text("has variables that are each other's memory: '", profile_.values[at].id, "'"));
                state[at] = walking;
                path.push_back(int(at));
                if (forwarded_[at].empty()) break;
                at = size_t(find(values_, forwarded_[at], "mem_readonly_fwd_src"));
            }
            for (int at : path) state[size_t(at)] = fine;
        }
    }

    void read_times(JsonValue json, ProfileSide side) {
        for (auto entry : json.members("profiler times")) {
            // Operators of other graphs are ignored.
            auto step = steps_.find(entry.key());
            if (step == steps_.end()) continue;
            for (auto place : entry.members("profiler times")) {
                budget_.spend(2 * sizeof(ProfileEvent));
                ProfileSpan span{place.at("start").number("start"), place.at("kern").number("kern"),
                                 place.at("end").number("end")};
                if (span.end < span.start)
                    refuse(text("has operator '", entry.key(), "' end before it starts"));
                profile_.events.push_back({step->second, track_of(side, place.key()), span});
            }
        }
    }

    int track_of(ProfileSide side, std::string_view name) {
        auto& tracks = side == ProfileSide::device ? device_tracks_ : host_tracks_;
        auto [found, is_new] = tracks.emplace(name, int(profile_.tracks.size()));
        if (is_new) {
            budget_.spend(sizeof(ProfileTrack) + 64 + name.size());
            profile_.tracks.push_back({side, std::string(name)});
        }
        return found->second;
    }

    std::vector<Extents> read_shapes(JsonValue json, const char* what) {
        std::vector<Extents> shapes;
        for (auto item : json.items(what)) {
            budget_.spend(2 * sizeof(Extents));
            shapes.push_back(item.is_null() ? Extents{} : read_extents(item, what, budget_));
        }
        return shapes;
    }

    void read_footprint(JsonValue json) {
        auto found = steps_.find(json.key());
        if (found == steps_.end()) return;
        auto& step = profile_.steps[size_t(found->second)];
        if (auto count = json.at("computation"); !count.is_null())
            step.operations = count.number("opr_footprint.computation");
        step.bytes = json.at("memory").number("opr_footprint.memory");
        step.in_shapes = read_shapes(json.at("in_shapes"), "opr_footprint.in_shapes");
        step.out_shapes = read_shapes(json.at("out_shapes"), "opr_footprint.out_shapes");
        if (auto strides = json.find("in_layouts"); strides && !strides->is_null())
            step.in_strides = read_shapes(*strides, "opr_footprint.in_layouts");
    }

    // In the format of our own writer; the inner information of MegEngine's operators has no common format.
    void read_inside(JsonValue json) {
        auto found = steps_.find(json.key());
        auto list = json.is_object() ? json.find("steps") : std::nullopt;
        if (found == steps_.end() || !list || !list->is_array()) return;
        profile_.runs_total = json.at("runs").integer("opr_internal_pf.runs");
        if (profile_.runs_total < 1) refuse(text("has operator '", json.key(), "' in no run"));
        for (auto item : list->items("opr_internal_pf.steps")) read_inner_step(item, found->second);
    }

    void read_inner_step(JsonValue json, int step) {
        budget_.spend(2 * sizeof(ProfileInnerStep));
        ProfileInnerStep inner{
            .step = step,
            .path = read_text(json.at("path"), "opr_internal_pf.path", budget_),
            .type = read_text(json.at("type"), "opr_internal_pf.type", budget_),
            .algorithm = read_text(json.at("algorithm"), "opr_internal_pf.algorithm", budget_),
            .count = json.at("count").integer("opr_internal_pf.count")};
        double total = json.at("total").number("opr_internal_pf.total") * 1e9;
        if (inner.count < 1 || total < 0 || total > double(longest_ns))
            refuse(text("has step '", inner.path, "' run ", inner.count, " times in ", total, " ns"));
        inner.total = std::llround(total);
        profile_.inner_steps.push_back(std::move(inner));
    }

    const JsonDocument& document_;
    JsonValue root_;
    ReadingBudget budget_;
    Profile profile_;
    Ids values_, steps_, device_tracks_, host_tracks_;
    std::vector<std::string_view> forwarded_;  // by value: the id of the value whose memory it uses
};

}  // namespace

Profile read_megengine_profile(const JsonDocument& document) { return MegEngineReader(document).read(); }

}  // namespace mge
