// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/checks/reproducer.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "apps/cli/files/model_part.h"
#include "apps/cli/output/table.h"
#include "libmge/base/joined.h"
#include "libmge/graph/origins.h"
#include "libmge/inspect/value_names.h"
#include "libmge/model/stored_options.h"
#include "libmge/op/apply.h"

namespace mge::load_and_run {
namespace {

// Operators of the model and the values at their borders.
struct Borders {
    std::vector<NodeId> nodes;
    std::vector<ValueId> from, to;
};

// Returns, by value, whether it follows from the graph's inputs. All others are constants in effect.
std::vector<bool> follow_from_inputs(const Graph& graph) {
    std::vector<bool> follows(graph.values().size());
    for (ValueId id : graph.inputs()) follows[size_t(id)] = true;
    for (auto& node : graph.nodes()) {
        bool any = std::ranges::any_of(node.inputs,
                                       [&](ValueId id) { return id != no_value && follows[size_t(id)]; });
        for (ValueId id : node.outputs) follows[size_t(id)] = any;
    }
    return follows;
}

// The operators of some steps, by their numbers in the source graph; those that a pass made, by label.
struct Origins {
    std::set<NodeId> numbers;
    std::set<std::string> labels;
    bool is_everything = false;

    bool contain(const Graph& graph, const Node& node) const {
        if (is_everything) return true;
        if (node.origins.empty()) return labels.contains(node_label(graph, node));
        return std::ranges::any_of(node.origins, [&](NodeId id) { return numbers.contains(id); });
    }
};

Borders borders_of(const Graph& graph, const Origins& origins) {
    Borders result;
    std::set<ValueId> made, read_outside(graph.outputs().begin(), graph.outputs().end()), seen;
    std::vector<bool> follows = follow_from_inputs(graph);
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
        auto& node = graph.node(NodeId(i));
        if (origins.contain(graph, node)) {
            result.nodes.push_back(NodeId(i));
            made.insert(node.outputs.begin(), node.outputs.end());
        } else {
            read_outside.insert(node.inputs.begin(), node.inputs.end());
        }
    }
    for (NodeId i : result.nodes)
        for (ValueId id : graph.node(i).inputs)
            if (id != no_value && follows[size_t(id)] && !made.contains(id) && seen.insert(id).second)
                result.from.push_back(id);
    for (ValueId id : made)
        if (read_outside.contains(id)) result.to.push_back(id);
    return result;
}

class Writer {
public:
    Writer(const CheckOptions& checks, const Subject& subject, const WalkedDifference& walked)
        : checks_(checks),
          subject_(subject),
          walked_(walked),
          graph_(name_values(subject.model.graph)),
          walk_(graph_, subject.options, subject.inputs) {
        for (size_t i = 0; i < graph_.values().size(); ++i) names_.push_back(value_label(graph_, ValueId(i)));
    }

    Reproducer write(const std::string& path) {
        Reproducer result{path, {}, {}, {}};
        Model model;
        for (auto& steps : candidates()) {
            auto borders = borders_of(graph_, origins_of(steps));
            if (borders.to.empty()) continue;
            model = part_of(borders);
            result.operators.clear();
            for (NodeId id : borders.nodes)
                result.operators.push_back(operator_text(graph_, graph_.node(id)));
            if ((result.shows_difference = differs(model))) break;
        }
        for (ValueId id : model.graph.inputs()) result.inputs.push_back(model.graph.value(id).name);
        for (ValueId id : model.graph.outputs()) result.outputs.push_back(model.graph.value(id).name);
        write_model(path, model);
        return result;
    }

private:
    // Sets of steps, the smallest first.
    std::vector<std::vector<size_t>> candidates() const {
        auto& found = walked_.result;
        auto& cause = found.cause ? *found.cause : *found.first;
        std::vector<size_t> between(cause.step - found.first->step + 1), all(walk_.step_count());
        std::iota(between.begin(), between.end(), found.first->step);
        std::iota(all.begin(), all.end(), 0);
        return {{cause.step}, cause.suspects, between, all};
    }

    Origins origins_of(const std::vector<size_t>& steps) const {
        Origins origins;
        origins.is_everything = steps.size() == walk_.step_count();
        for (size_t step : steps) {
            auto& node = walk_.node(step);
            origins.numbers.insert(node.origins.begin(), node.origins.end());
            if (node.origins.empty()) origins.labels.insert(node_label(walk_.graph(), node));
        }
        return origins;
    }

    // The reference's values, and the model's own where the reference has none.
    Tensors boundary_values(const std::vector<ValueId>& ids) const {
        Tensors values = reference_values(checks_, subject_, graph_, ids);
        Tensors own = cli::values_of(graph_, {.level = 0}, subject_.inputs, ids);
        for (size_t i = 0; i < ids.size(); ++i) {
            auto& spec = own[i].spec();
            if (!values[i] || !(values[i].shape() == spec.shape))
                values[i] = own[i];
            else if (values[i].dtype() != spec.dtype)
                values[i] = convert_dtype(values[i], spec.dtype);
        }
        return values;
    }

    Model part_of(const Borders& borders) const {
        auto part = cli::cut_part(graph_, borders.from, borders.to, names_);
        part.model.test_cases.push_back(
            {"difference", boundary_values(part.inputs), boundary_values(borders.to)});
        return std::move(part.model);
    }

    // Compiles the part like the model, stores how, and compares its results with the stored ones.
    bool differs(Model& model) const {
        auto& test = model.test_cases.at(0);
        CompileOptions options = subject_.options;
        options.algorithms.clear();
        auto program = Program::compile(model.graph, specs_of(test.inputs), options);
        store_options(model, options, *program);
        auto context = Context::create(program);
        context->fill_inputs(test.inputs);
        context->run();
        context->wait();
        auto halves = behind_halves(*program);
        for (size_t i = 0; i < test.outputs.size(); ++i) {
            Tolerance tolerance = walked_.tolerance;
            tolerance.is_rounded_to_half = halves[size_t(program->outputs()[i].value)];
            if (!compare_tensors(context->copy_output(i), test.outputs[i], tolerance).passed()) return true;
        }
        return false;
    }

    const CheckOptions& checks_;
    const Subject& subject_;
    const WalkedDifference& walked_;
    Graph graph_;
    LayerWalk walk_;
    std::vector<std::string> names_;
};

}  // namespace

std::optional<Reproducer> write_reproducer(const std::string& path, const CheckOptions& checks,
                                           const Subject& subject, const WalkedDifference& walked) {
    if (!walked.result.first) return std::nullopt;
    return Writer(checks, subject, walked).write(path);
}

void print(const Reproducer& reproducer) {
    auto& ops = reproducer.operators;
    std::cout << "wrote '" << reproducer.path << "': " << cli::counted(ops.size(), "operator");
    if (ops.size() <= 3) std::cout << " (" << joined(ops, ", ") << ')';
    std::cout << " with inputs and expected outputs; load_and_run '" << reproducer.path << "' "
              << (reproducer.shows_difference ? "shows the difference"
                                              : "shows no difference: the operators differ only together")
              << '\n';
}

cli::Json to_json(const Reproducer& reproducer) {
    return {{"path", reproducer.path},
            {"operators", reproducer.operators},
            {"inputs", reproducer.inputs},
            {"outputs", reproducer.outputs},
            {"shows_difference", reproducer.shows_difference}};
}

}  // namespace mge::load_and_run
