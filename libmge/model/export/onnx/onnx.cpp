// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/export/onnx/onnx.h"

#include <algorithm>
#include <filesystem>

#include "libmge/base/file.h"
#include "libmge/base/number_text.h"
#include "libmge/graph/origins.h"
#include "libmge/model/export/onnx/encode.h"
#include "libmge/model/export/onnx/operators.h"
#include "libmge/model/export/onnx/unfused.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace to_onnx {
namespace {

constexpr size_t most_problems = 20;  // that one error names
constexpr auto batch_name = "batch";

class Translation {
public:
    Translation(Graph graph, const std::string& name, int opset, bool other_batches)
        : graph_(std::move(graph)),
          shapes_(graph_, other_batches),
          writer_(opset),
          uses_(graph_.use_counts()),
          names_(graph_.values().size()) {
        writer_.record.name = name;
    }

    // Empty problems: the record is complete.
    GraphRecord run() {
        name_values();
        for (ValueId id : graph_.inputs()) writer_.record.inputs.push_back(describe(id, names_[size_t(id)]));
        for (auto& node : graph_.nodes()) translate(node);
        add_outputs();
        writer_.drop_unread();
        return std::move(writer_.record);
    }
    const std::vector<std::string>& problems() const { return problems_; }
    bool has_batch() const { return shapes_.has_batch(); }

private:
    // Those that people gave come first and stay as they are.
    void name_values() {
        auto give = [&](ValueId id, const std::string& name) {
            if (names_[size_t(id)].empty()) names_[size_t(id)] = writer_.unique(name);
        };
        for (ValueId id : graph_.inputs())
            give(id, graph_.value(id).name.empty() ? "input" : graph_.value(id).name);
        for (ValueId id : graph_.outputs()) give(id, value_label(graph_, id));
        for (size_t i = 0; i < names_.size(); ++i)
            if (!graph_.values()[i].name.empty()) give(ValueId(i), graph_.values()[i].name);
        for (size_t i = 0; i < names_.size(); ++i) {
            auto& value = graph_.values()[i];
            if (value.is_constant())
                names_[i] = add_constant(ValueId(i));
            else if (value.producer >= 0)
                give(ValueId(i), value_label(graph_, ValueId(i)));
        }
    }
    std::string add_constant(ValueId id) {
        auto& value = graph_.value(id);
        if (names_[size_t(id)].empty()) return writer_.constant(value.constant, "constant");
        writer_.record.initialisers.emplace_back(names_[size_t(id)], value.constant);
        return names_[size_t(id)];
    }

    void translate(const Node& node) {
        size_t first = writer_.node_count();
        auto* row = find_operator(*node.op);
        std::string name = node_label(graph_, node);
        try {
            if (!row) unsupported("ONNX has no counterpart of it");
            Site site(writer_, graph_, node, shapes_, names_, uses_);
            site.type = row->type;
            bind(node, row->function(site), first);
        } catch (const Unsupported& problem) {
            problems_.push_back(text(operator_text(node.op->name, name), ": ", problem.what));
            return;
        }
        std::string unique = taken_node_names_.insert(name).second ? name : text(name, '#', first);
        writer_.name_nodes(first, unique, names_[size_t(node.outputs[0])]);
    }
    void bind(const Node& node, const Operands& results, size_t first) {
        for (size_t i = 0; i < node.outputs.size(); ++i)
            if (i < results.size() && uses_[size_t(node.outputs[i])] > 0)
                writer_.rename(first, results[i], names_[size_t(node.outputs[i])]);
    }

    // A value has one name: inputs, constants and what is an output already are copied.
    void add_outputs() {
        std::set<ValueId> taken;
        for (ValueId id : graph_.outputs()) {
            std::string name = names_[size_t(id)];
            if (graph_.value(id).producer < 0 || !taken.insert(id).second) {
                std::string copy = writer_.unique(name);
                writer_.record.nodes.push_back({"Identity", copy, {name}, {copy}, {}});
                name = copy;
            }
            if (!graph_.value(id).spec.shape.is_known())
                problems_.push_back(text("output '", name, "': its rank only a run can tell"));
            writer_.record.outputs.push_back(describe(id, name));
        }
    }

    ValueRecord describe(ValueId id, const std::string& name) const {
        auto& spec = graph_.value(id).spec;
        ValueRecord record{name, spec.dtype, spec.shape.is_known(), {}};
        for (int axis = 0; axis < spec.shape.rank(); ++axis) {
            if (shapes_.is_batch(id, axis))
                record.extents.push_back({-1, batch_name});
            else
                record.extents.push_back({shapes_.extent(id, axis).value_or(-1), {}});
        }
        return record;
    }

    Graph graph_;
    Shapes shapes_;
    GraphWriter writer_;
    std::vector<int> uses_;
    std::vector<Operand> names_;  // by value
    std::set<std::string> taken_node_names_;
    std::vector<std::string> problems_;
};

[[noreturn]] void refuse(const std::vector<std::string>& problems) {
    std::string all;
    for (size_t i = 0; i < std::min(problems.size(), most_problems); ++i)
        all += (i ? "; " : "") + problems[i];
    if (problems.size() > most_problems) all += text("; and ", problems.size() - most_problems, " more");
    throw ModelError(text("[write_onnx] ", counted(problems.size(), "part"),
                          " of the model cannot be said in ONNX: ", all));
}

Graph prepared(Graph graph) {
    note_origins(graph);
    return unfused(remove_dead_nodes(std::move(graph), {}));
}

// For every batch where that can be done, else for the present one.
GraphRecord translated(const Graph& graph, const std::string& name, int opset) {
    Translation for_all(graph, name, opset, true);
    GraphRecord record = for_all.run();
    if (for_all.problems().empty()) return record;
    if (!for_all.has_batch()) refuse(for_all.problems());
    Translation for_one(graph, name, opset, false);
    record = for_one.run();
    if (!for_one.problems().empty()) refuse(for_one.problems());
    return record;
}

ModelRecord translated(const Model& model, int opset, const std::string& name) {
    if (opset < least_onnx_opset || opset > largest_onnx_opset)
        throw_user(
            "write_onnx",
            text("operator set ", opset, " is not one of ", least_onnx_opset, " to ", largest_onnx_opset),
            ErrorClass::value);
    return {opset, translated(prepared(model.graph), name, opset), model.metadata};
}

void write_external(std::ostream& stream, const std::vector<ExternalTensor>& tensors) {
    size_t end = 0;
    for (auto& [offset, tensor] : tensors) {
        std::string gap(offset - end, '\0');
        stream.write(gap.data(), std::streamsize(gap.size()));
        stream.write(static_cast<const char*>(tensor.data()), std::streamsize(tensor.spec().bytes()));
        end = offset + tensor.spec().bytes();
    }
}

size_t weight_bytes(const ModelRecord& model) {
    size_t bytes = 0;
    for (auto& [name, tensor] : model.graph.initialisers) bytes += tensor.spec().bytes();
    return bytes;
}

}  // namespace
}  // namespace to_onnx

void write_onnx(const std::string& path, const Model& model, const OnnxOptions& options) {
    std::filesystem::path file(path);
    auto record = to_onnx::translated(model, options.opset, file.stem().string());
    std::string external;
    if (to_onnx::weight_bytes(record) > options.most_inner_bytes) {
        external = file.filename().string() + ".data";
        write_file_atomically(path + ".data", [&](std::ostream& stream) {
            to_onnx::write_external(stream, to_onnx::external_tensors(record));
        });
    }
    std::string bytes = to_onnx::encode(record, external);
    write_file_atomically(
        path, [&](std::ostream& stream) { stream.write(bytes.data(), std::streamsize(bytes.size())); });
}

std::string onnx_bytes(const Model& model, const OnnxOptions& options) {
    return to_onnx::encode(to_onnx::translated(model, options.opset, "model"));
}

}  // namespace mge
