// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/graph_reader.h"

#include <algorithm>

#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/graph/infer.h"
#include "libmge/op/operator_library.h"

namespace mge {

// Inputs and constants now; node outputs when their node comes.
void GraphReader::read_values(Graph& graph, const Values* values, const FileVector<int>* inputs) {
    values_ = file_.list(values);
    ids_.assign(values_.size(), no_value);
    for (size_t i = 0; i < values_.size(); ++i) {
        auto& constant = *values->Get(flatbuffers::uoffset_t(i));
        if (constant.tensor() < 0) continue;
        std::string where = text("value ", i);
        if (size_t(constant.tensor()) >= tensors_.size())
            file_.fail(where, ": tensor ", constant.tensor(), " of ", tensors_.size(), " does not exist");
        DeviceId device = file_.at(where, [&] { return device_of(constant); });
        ids_[i] =
            graph.add_constant(tensors_[size_t(constant.tensor())], file_.string(constant.name()), device);
    }
    for (int id : file_.list(inputs)) {
        auto& input = value(id, "the inputs");
        std::string where = text("value ", id);
        if (ids_[size_t(id)] != no_value)
            file_.fail(where, " is listed twice as an input, or as input and constant");
        DeviceId device = file_.at(where, [&] { return device_of(input); });
        TensorSpec spec = spec_of(input, where);
        const int rank = spec.shape.is_known() ? spec.shape.rank() : 0;
        auto dimensions = dimensions_of(input, rank, where);
        ids_[size_t(id)] = graph.add_input(spec, file_.string(input.name()), device, std::move(dimensions));
    }
}

const file::Value& GraphReader::value(int id, const std::string& where) const {
    if (id < 0 || size_t(id) >= values_.size())
        file_.fail(where, ": value ", id, " of ", values_.size(), " does not exist");
    return *values_.vector->Get(flatbuffers::uoffset_t(id));
}

// DeviceError for a device that this machine does not have.
DeviceId GraphReader::device_of(const file::Value& value) const {
    std::string name = file_.string(value.device());
    return name.empty() ? DeviceId{} : parse_device(name);
}

OpenDimensions GraphReader::dimensions_of(const file::Value& value, int rank,
                                          const std::string& where) const {
    OpenDimensions result;
    for (auto* each : file_.list(value.dimensions())) {
        if (each->axis() >= rank || each->axis() <= (result.empty() ? -1 : result.back().axis))
            file_.fail(where, ": axis ", each->axis(), " of its dimensions is out of range or order");
        if (each->least() < 0 || each->most() < each->least())
            file_.fail(where, ": a dimension has the bounds ", each->least(), " and ", each->most());
        result.push_back({each->axis(), file_.string(each->name()), {each->least(), each->most()}});
    }
    return result;
}

TensorSpec GraphReader::spec_of(const file::Value& value, const std::string& where) const {
    DType type = file_.dtype(value.dtype(), where);
    return {type, value.shape_known() ? file_.shape(value.shape(), where) : Shape::unknown(), {}};
}

ParamValue GraphReader::param(const file::Attribute& a, const std::string& where) const {
    switch (a.kind()) {
        case file::AttributeKind::boolean:
            return a.integer() != 0;
        case file::AttributeKind::integer:
            return a.integer();
        case file::AttributeKind::number:
            return a.number();
        case file::AttributeKind::text:
            return file_.string(a.text());
        case file::AttributeKind::integers:
            return IntList(file_.list(a.integers()).begin(), file_.list(a.integers()).end());
        case file::AttributeKind::numbers:
            return FloatList(file_.list(a.numbers()).begin(), file_.list(a.numbers()).end());
        case file::AttributeKind::graph:
            if (a.graph() >= 0 && size_t(a.graph()) >= held_.size())
                file_.fail(where, ": graph ", a.graph(), " of ", held_.size(), " does not exist before it");
            return a.graph() < 0 ? SubgraphRef() : held_[size_t(a.graph())];
    }
    file_.fail(where, ": attribute '", file_.string(a.name()), "' is of an unknown kind");
}

std::shared_ptr<const void> GraphReader::params(const OpInfo& op, const file::Node& node,
                                                const std::string& where) const {
    ParamMap map;
    int version = int(node.version());
    if (version != op.version && !(version > 0 && version < op.version && op.upgrade))
        file_.fail(where, ": version ", node.version(), " of the operator, but this program has ",
                   op.version);
    for (auto* a : file_.list(node.attributes())) map.emplace_back(file_.string(a->name()), param(*a, where));
    if (version != op.version) op.upgrade(version, map);
    auto result = op.params.make();
    load_params(op.name, op.fields, result.get(), map);
    return result;
}

void GraphReader::read_nodes(Graph& graph, const Nodes* nodes) {
    size_t index = 0;
    for (auto* node : file_.list(nodes)) {
        std::string where = text("node ", index++, " (", file_.string(node->op()), ")");
        file_.at(where, [&] { read_node(graph, *node, where); });
    }
}

const OpInfo& GraphReader::find_operator(const file::Node& node, const std::string& where) const {
    const OpInfo* op = find_op(file_.string(node.op()));
    std::string library = file_.string(node.library());
    auto* added = op ? library_of(*op) : nullptr;
    if (op && library == (added ? added->name : "")) return *op;
    if (library.empty()) file_.fail(where, ": this version has no such operator");
    std::string what = text("it is the operator '", file_.string(node.op()), "' of library '", library, "'");
    if (added) file_.fail(where, ": ", what, "; the one that is loaded is of library '", added->name, "'");
    file_.fail(where, ": ", what, ", which is not loaded; load it first (--c-opr-lib, custom_op_tools.load)");
}

void GraphReader::read_node(Graph& graph, const file::Node& node, const std::string& where) {
    const OpInfo* op = &find_operator(node, where);
    std::vector<ValueId> inputs;
    for (int id : file_.list(node.inputs())) {
        if (id != no_value) value(id, where);
        if (id != no_value && ids_[size_t(id)] == no_value)
            file_.fail(where, ": reads value ", id, " before it is computed");
        inputs.push_back(id == no_value ? no_value : ids_[size_t(id)]);
    }
    check_arity(*op, inputs, where);
    check_promotion(graph, *op, inputs, where);
    const size_t count = file_.list(node.outputs()).size();
    if (count == 0) file_.fail(where, ": it has no outputs");
    if (count != op->outputs.size() && !op->traits.variadic_outputs)
        file_.fail(where, ": ", counted(count, "output"), ", but the operator has ", op->outputs.size());
    TensorSpecs specs;
    for (int id : file_.list(node.outputs())) specs.push_back(spec_of(value(id, where), where));
    // If an operator has inputs, they determine the device of its outputs.
    bool has_own_place = std::ranges::all_of(inputs, [](ValueId id) { return id == no_value; });
    DeviceId place;
    if (has_own_place) place = device_of(value(node.outputs()->Get(0), where));
    NodeId made = graph.add_node(*op, params(*op, node, where), std::move(inputs), file_.string(node.name()),
                                 &specs, has_own_place ? &place : nullptr);
    check_specs(graph, made, where);
    for (size_t i = 0; i < specs.size(); ++i) {
        int id = node.outputs()->Get(flatbuffers::uoffset_t(i));
        if (ids_[size_t(id)] != no_value)
            file_.fail(where, ": computes value ", id, ", which exists already");
        ids_[size_t(id)] = graph.node(made).outputs[i];
        graph.value(ids_[size_t(id)]).name = file_.string(value(id, where).name());
    }
}

void GraphReader::check_arity(const OpInfo& op, const std::vector<ValueId>& inputs,
                              const std::string& where) const {
    if (inputs.size() > op.inputs.size() && !op.is_variadic())
        file_.fail(where, ": ", counted(inputs.size(), "input"), ", but the operator takes at most ",
                   op.inputs.size());
    for (size_t i = 0; i < op.inputs.size(); ++i)
        if (op.inputs[i].kind == InputKind::required && (i >= inputs.size() || inputs[i] == no_value))
            file_.fail(where, ": input '", op.inputs[i].name, "' is missing");
    for (size_t i = op.inputs.size(); i < inputs.size(); ++i)
        if (inputs[i] == no_value) file_.fail(where, ": input ", i, " of the list is missing");
}

// When a graph is built, inputs are promoted to one dtype (op/apply.h). Kernels assume that dtype for all of
// them.
void GraphReader::check_promotion(const Graph& graph, const OpInfo& op, const std::vector<ValueId>& inputs,
                                  const std::string& where) const {
    if (op.traits.promotion == Promotion::none) return;
    DType first = DType::none;
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i] == no_value || !input_info(op, i).promoted) continue;
        DType dtype = graph.value(inputs[i]).spec.dtype;
        if (first == DType::none) first = dtype;
        if (dtype != first)
            file_.fail(where, ": input '", input_info(op, i).name, "' is ", dtype,
                       ", but those before it are ", first);
    }
}

// Compares the specs of the file with those inferred by the operator; if inference needs values known only at
// run time, the file's are used.
void GraphReader::check_specs(const Graph& graph, NodeId id, const std::string& where) const {
    auto& node = graph.node(id);
    if (is_unresolved(node)) return;
    TensorSpecs inputs;
    for (ValueId input : node.inputs) {
        inputs.push_back(input == no_value ? TensorSpec{} : graph.value(input).spec);
        if (!inputs.back().shape.is_known()) return;
    }
    TensorSpecs expected = node.op->infer(node.params.get(), inputs);
    if (expected.size() != node.outputs.size())
        file_.fail(where, ": ", counted(node.outputs.size(), "output"), ", but the operator has ",
                   expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
        auto& spec = graph.value(node.outputs[i]).spec;
        if (expected[i].shape.is_known() ? !(spec == expected[i]) : spec.dtype != expected[i].dtype)
            file_.fail(where, ": output ", i, " is declared as ", spec, ", but the operator gives ",
                       expected[i]);
    }
}

void GraphReader::read_outputs(Graph& graph, const FileVector<int>* ids) {
    std::vector<ValueId> outputs;
    for (int id : file_.list(ids)) {
        value(id, "the outputs");
        if (ids_[size_t(id)] == no_value) file_.fail("output value ", id, " is never computed");
        outputs.push_back(ids_[size_t(id)]);
    }
    if (outputs.empty()) file_.fail("it has no outputs");
    graph.set_outputs(std::move(outputs));
}

}  // namespace mge
