// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "apps/cli/files/model_file.h"
#include "apps/cli/output/table.h"
#include "apps/dump/commands.h"
#include "libmge/base/joined.h"
#include "libmge/base/reflect.h"
#include "libmge/graph/origins.h"

namespace mge::dump {
namespace {

using cli::Json;

struct DiffOptions {
    cli::ModelFile first, second;
    bool requires_same = false;
};

// A difference between the models: the thing, and what it is in each.
struct Change {
    std::string what, name, in_first, in_second;
};

// Makes the graph its own source, so that its operators are numbered as they are.
Graph with_own_numbers(Graph graph) {
    graph.set_source_nodes(nullptr);
    note_origins(graph);
    return graph;
}

bool are_equal(const Tensor& a, const Tensor& b) {
    return a.spec() == b.spec() && std::memcmp(a.data(), b.data(), a.spec().bytes()) == 0;
}

std::string specs_text(const Graph& graph, const Node& node) {
    return joined(node.outputs, ", ", [&](ValueId id) { return text(graph.value(id).spec); });
}

class ModelDiff {
public:
    ModelDiff(const Model& first, const Model& second)
        : first_(with_own_numbers(first.graph)), second_(with_own_numbers(second.graph)) {
        compare_ports("input", first_.inputs(), second_.inputs());
        compare_ports("output", first_.outputs(), second_.outputs());
        compare_operators();
        compare_test_cases(first, second);
        compare_metadata(first.metadata, second.metadata);
    }

    std::vector<Change> changes;
    size_t matched = 0, equal_weights = 0;

private:
    void add(const char* what, const std::string& name, const std::string& a, const std::string& b) {
        if (a != b) changes.push_back({what, name, a, b});
    }

    void compare_ports(const char* what, const std::vector<ValueId>& a, const std::vector<ValueId>& b) {
        for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
            auto shown = [&](const Graph& graph, const std::vector<ValueId>& ids) {
                if (i >= ids.size()) return std::string();
                auto& value = graph.value(ids[i]);
                return text(value.name, ' ', value.spec);
            };
            add(what, std::to_string(i), shown(first_, a), shown(second_, b));
        }
    }

    void compare_operators() {
        auto in_second = match_sources(*first_.source_nodes(), *second_.source_nodes());
        std::set<NodeId> found;
        for (size_t i = 0; i < in_second.size(); ++i) {
            auto& node = first_.node(NodeId(i));
            if (in_second[i] < 0) {
                changes.push_back({"operator", node_label(first_, node), std::string(node.op->name), ""});
                continue;
            }
            found.insert(in_second[i]);
            ++matched;
            compare_nodes(node, second_.node(in_second[i]));
        }
        for (size_t i = 0; i < second_.nodes().size(); ++i)
            if (auto& node = second_.node(NodeId(i)); !found.contains(NodeId(i)))
                changes.push_back({"operator", node_label(second_, node), "", std::string(node.op->name)});
    }

    void compare_nodes(const Node& a, const Node& b) {
        auto name = node_label(first_, a);
        add("operator", name, std::string(a.op->name), std::string(b.op->name));
        if (a.op == b.op)
            add("parameters", name, params_text(a.op->fields, a.params.get()),
                params_text(b.op->fields, b.params.get()));
        add("result", name, specs_text(first_, a), specs_text(second_, b));
        for (size_t i = 0; i < std::min(a.inputs.size(), b.inputs.size()); ++i)
            compare_weights(name, int(i), a.inputs[i], b.inputs[i]);
    }

    void compare_weights(const std::string& reader, int position, ValueId a, ValueId b) {
        if (a == no_value || b == no_value) return;
        auto &one = first_.value(a).constant, &other = second_.value(b).constant;
        if (!one || !other) return;
        if (are_equal(one, other)) {
            ++equal_weights;
            return;
        }
        std::string own = first_.value(a).name,
                    name = own.empty() ? text("input ", position, " of ", reader) : own;
        bool same_spec = one.spec() == other.spec();
        changes.push_back({"weight", name, text(one.spec()),
                           same_spec ? text(other.spec(), " with other values") : text(other.spec())});
    }

    void compare_test_cases(const Model& a, const Model& b) {
        add("test cases", "", std::to_string(a.test_cases.size()), std::to_string(b.test_cases.size()));
    }

    void compare_metadata(const std::map<std::string, std::string>& a,
                          const std::map<std::string, std::string>& b) {
        auto all = a;
        all.insert(b.begin(), b.end());
        auto value_in = [](auto& map, const std::string& key) {
            auto at = map.find(key);
            return at == map.end() ? std::string() : at->second;
        };
        for (auto& entry : all)
            add("metadata", entry.first, value_in(a, entry.first), value_in(b, entry.first));
    }

    Graph first_, second_;
};

int run(const DiffOptions& options, const cli::Invocation& invocation) {
    Model first = options.first.read(), second = options.second.read();
    ModelDiff diff(first, second);
    auto list = Json::array();
    std::vector<std::vector<std::string>> rows{{"what", "name", "first", "second"}};
    for (auto& change : diff.changes) {
        auto shown = [](const std::string& side) { return side.empty() ? std::string("-") : side; };
        rows.push_back({change.what, change.name, shown(change.in_first), shown(change.in_second)});
        list.push_back({{"what", change.what},
                        {"name", change.name},
                        {"first", change.in_first.empty() ? Json() : Json(change.in_first)},
                        {"second", change.in_second.empty() ? Json() : Json(change.in_second)}});
    }
    if (!diff.changes.empty()) cli::print_table(std::cout, rows);
    std::cout << cli::counted(diff.matched, "operator") << " and "
              << cli::counted(diff.equal_weights, "weight") << " in both, "
              << cli::counted(diff.changes.size(), "difference") << '\n';
    Json result{{"first", options.first.path},         {"second", options.second.path},
                {"same", diff.changes.empty()},        {"operators_in_both", diff.matched},
                {"equal_weights", diff.equal_weights}, {"changes", list}};
    if (options.requires_same && !diff.changes.empty())
        return cli::finish(invocation, result, ErrorCode::accuracy,
                           text("'", options.first.path, "' and '", options.second.path, "' have ",
                                cli::counted(diff.changes.size(), "difference")));
    return cli::finish(invocation, result);
}

}  // namespace

void add_diff(cli::App& app) {
    auto options = std::make_shared<DiffOptions>();
    auto& command = app.command("diff", "Compares the structure and the weights of two models",
                                [options, &app] { return run(*options, app.invocation()); });
    cli::add_model_file(command, options->first, "first");
    auto file = [](std::string path) { return path == "-" ? std::string("/dev/stdin") : path; };
    command.add_option("second", options->second.path, "The model to compare with")
        ->required()
        ->transform(file)
        ->type_name("FILE");
    cli::add_model_keys(command, options->second.keys, "second-", "the second model");
    command.add_flag("--require-same", options->requires_same, "Exit with 7 if there is a difference");
}

}  // namespace mge::dump
