// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/parts.h"

#include <algorithm>

#include "libmge/graph/copy_node.h"
#include "libmge/graph/dependencies.h"
#include "libmge/graph/inner_graph.h"
#include "libmge/graph/origins.h"
#include "libmge/graph/place.h"
#include "libmge/graph/require_value.h"

namespace mge {
namespace {

constexpr auto who = "parts";

void check(const Graph& graph, const std::vector<std::vector<ValueId>>& parts,
           const CompileOptions& options) {
    if (options.fake_next_exec) throw_user(who, "fake_next_exec must be off: every part runs");
    if (options.comp_node_seq_record_level)
        throw_user(who, "comp_node_seq_record_level must be 0: a part may begin again");
    if (parts.empty()) throw_value_error(who, "there must be at least one part");
    for (auto& part : parts)
        for (ValueId id : part) require_value(graph, id, who);
}

// Returns, by node, the part that computes it; -1: none.
std::vector<int> part_of_nodes(const Graph& graph, const std::vector<std::vector<ValueId>>& parts) {
    std::vector<int> result(graph.nodes().size(), -1);
    // Producers precede readers, so one backward walk finds all that a part needs.
    auto take = [&](std::vector<NodeId> wanted, int part) {
        while (!wanted.empty()) {
            NodeId id = wanted.back();
            wanted.pop_back();
            if (id < 0 || result[size_t(id)] >= 0) continue;
            result[size_t(id)] = part;
            for (ValueId input : graph.node(id).inputs)
                if (input != no_value) wanted.push_back(graph.value(input).producer);
        }
    };
    for (size_t part = 0; part < parts.size(); ++part) {
        std::vector<NodeId> wanted;
        for (ValueId id : parts[part]) wanted.push_back(graph.value(id).producer);
        take(std::move(wanted), int(part));
        bool is_last = part + 1 == parts.size();
        // Effects before the last node of the part belong to it as well.
        auto end = std::find(result.rbegin(), result.rend(), int(part));
        size_t count = is_last ? result.size() : size_t(result.rend() - end);
        for (size_t i = 0; i < count; ++i)
            if (has_effect(graph.node(NodeId(i)))) take({NodeId(i)}, int(part));
    }
    return result;
}

}  // namespace

struct PartedExecutable::Part {
    std::vector<std::string> inputs;  // inputs of the whole graph that it reads
    std::vector<ValueId> sources;     // its graph's inputs: values of the whole graph
    std::vector<ValueId> results;     // its outputs: requested values, then those for later parts
    size_t requested = 0;
    std::vector<ValueId> done_with;  // values without readers in later parts
    std::unique_ptr<Executable> executable;
};

namespace {

// The graph of a part. Its inputs are those of the whole graph and values from other parts.
class PartGraph {
public:
    PartGraph(const Graph& whole, const std::vector<int>& part_of, int part)
        : whole_(whole), part_of_(part_of), part_(part), moved_(whole.values().size(), no_value) {
        graph_.take_identity_of(whole);
        graph_.set_source_nodes(whole.source_nodes());
    }

    ValueId operator()(ValueId id) {
        if (id == no_value || moved_[size_t(id)] != no_value) return id == no_value ? id : moved_[size_t(id)];
        auto& value = whole_.value(id);
        if (value.is_constant())
            return moved_[size_t(id)] = graph_.add_constant(value.constant, value.name, value.device);
        sources_.push_back(id);
        moved_[size_t(id)] = graph_.add_input(value.spec, value_label(whole_, id), value.device);
        graph_.value(moved_[size_t(id)]).origins = value.origins;
        return moved_[size_t(id)];
    }

    void add_nodes() {
        for (size_t i = 0; i < whole_.nodes().size(); ++i) {
            if (part_of_[i] != part_) continue;
            auto& node = whole_.node(NodeId(i));
            std::vector<ValueId> inputs;
            for (ValueId id : node.inputs) inputs.push_back((*this)(id));
            auto& copy = graph_.node(copy_node(whole_, node, graph_, node.params, std::move(inputs)));
            for (size_t k = 0; k < node.outputs.size(); ++k)
                moved_[size_t(node.outputs[k])] = copy.outputs[k];
        }
    }

    Graph finish(const std::vector<ValueId>& results) {
        std::vector<ValueId> outputs;
        for (ValueId id : results) outputs.push_back((*this)(id));
        graph_.set_outputs(std::move(outputs));
        return std::move(graph_);
    }
    const std::vector<ValueId>& sources() const { return sources_; }

private:
    const Graph& whole_;
    const std::vector<int>& part_of_;
    int part_;
    Graph graph_;
    std::vector<ValueId> moved_;    // by value of the whole graph
    std::vector<ValueId> sources_;  // by input
};

// Returns, by value, the last part that reads it; -1: none.
std::vector<int> last_readers(const Graph& graph, const std::vector<int>& part_of,
                              const std::vector<std::vector<ValueId>>& parts) {
    std::vector<int> last(graph.values().size(), -1);
    auto read = [&](ValueId id, int part) {
        if (id != no_value) last[size_t(id)] = std::max(last[size_t(id)], part);
    };
    for (size_t i = 0; i < part_of.size(); ++i)
        for (ValueId id : graph.node(NodeId(i)).inputs) read(id, part_of[i]);
    for (size_t part = 0; part < parts.size(); ++part)
        for (ValueId id : parts[part]) read(id, int(part));
    return last;
}

}  // namespace

PartedExecutable::PartedExecutable(const Graph& given, const std::vector<std::vector<ValueId>>& parts,
                                   const CompileOptions& options) {
    check(given, parts, options);
    Graph graph = order_after(place(given, options.device), options.extra_vardeps);
    note_origins(graph);
    CompileOptions own = options;
    own.extra_vardeps.clear();
    auto part_of = part_of_nodes(graph, parts);
    auto last = last_readers(graph, part_of, parts);
    auto memory = std::make_shared<ContextMemory>();
    for (size_t i = 0; i < parts.size(); ++i) {
        auto part = std::make_unique<Part>();
        PartGraph builder(graph, part_of, int(i));
        builder.add_nodes();
        part->results = parts[i];
        part->requested = parts[i].size();
        for (size_t id = 0; id < graph.values().size(); ++id) {
            NodeId producer = graph.value(ValueId(id)).producer;
            bool is_made_here = producer >= 0 && part_of[size_t(producer)] == int(i);
            if (is_made_here && last[id] > int(i)) part->results.push_back(ValueId(id));
            if (last[id] == int(i)) part->done_with.push_back(ValueId(id));
        }
        Graph own_graph = builder.finish(part->results);
        part->sources = builder.sources();
        for (ValueId id : part->sources)
            if (graph.value(id).is_input) part->inputs.push_back(value_label(graph, id));
        part->executable = std::make_unique<Executable>(std::move(own_graph), own, memory);
        parts_.push_back(std::move(part));
    }
}

PartedExecutable::~PartedExecutable() = default;

size_t PartedExecutable::size() const { return parts_.size(); }

const std::vector<std::string>& PartedExecutable::inputs(size_t part) const {
    if (part >= parts_.size())
        throw_user(who, text("there is no part ", part, "; there are ", parts_.size()), ErrorClass::index);
    return parts_[part]->inputs;
}

Tensors PartedExecutable::run(size_t index, const std::map<std::string, Tensor>& inputs) {
    auto& names = this->inputs(index);
    for (auto& [name, tensor] : inputs)
        if (std::ranges::find(names, name) == names.end())
            throw_value_error(who, "part ", index, " has no input '", name, "'");
    if (index != 0 && index != next_)
        throw_user(who, text("part ", index, " was asked for when part ", next_, " was next"));
    if (index == 0) waiting_.clear();
    auto& part = *parts_[index];
    auto& graph = part.executable->graph();
    Tensors operands;
    for (size_t i = 0; i < part.sources.size(); ++i) {
        auto& name = graph.value(graph.inputs()[i]).name;
        auto waiting = waiting_.find(part.sources[i]);
        auto given = inputs.find(name);
        if (waiting == waiting_.end() && given == inputs.end())
            throw_value_error(who, "part ", index, " needs the input '", name, "'");
        operands.push_back(waiting == waiting_.end() ? given->second : waiting->second);
    }
    next_ = 0;  // unless it completes
    Tensors results = part.executable->run(operands);
    for (size_t i = part.requested; i < results.size(); ++i) waiting_[part.results[i]] = results[i];
    for (ValueId id : part.done_with) waiting_.erase(id);
    next_ = index + 1 < parts_.size() ? index + 1 : 0;
    results.resize(part.requested);
    return results;
}

size_t PartedExecutable::waiting_bytes() const {
    size_t sum = 0;
    for (auto& [id, tensor] : waiting_) sum += tensor.spec().bytes();
    return sum;
}

}  // namespace mge
