// SPDX-License-Identifier: Apache-2.0
#include "python/src/graph_binding.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <unordered_map>

#include "libmge/base/number_text.h"
#include "libmge/compile/program.h"
#include "libmge/device/default_device.h"
#include "libmge/device/device.h"
#include "libmge/graph/builder.h"
#include "libmge/graph/edit.h"
#include "libmge/graph/rewrite.h"
#include "libmge/inspect/value_names.h"
#include "libmge/model/container.h"
#include "libmge/model/crypt/key.h"
#include "libmge/model/import/megengine/counterparts.h"
#include "libmge/model/open.h"
#include "libmge/passes/pass.h"
#include "python/src/graph_names.h"
#include "python/src/subgraph_binding.h"
#include "python/src/tensor/conversion.h"
#include "python/src/tensor/tensor_arguments.h"
#include "python/src/trace_binding.h"

namespace nb = nanobind;

namespace mge::python {
namespace {

using Ids = std::vector<ValueId>;

// An operator is identified by the id of its first output, an input or constant by its own id: value ids
// survive changes of the graph, node ids do not.
class OpenGraph {
public:
    OpenGraph() { register_this(); }
    explicit OpenGraph(Model model)
        : builder_(prepared(std::move(model.graph))), metadata_(std::move(model.metadata)) {
        register_this();
    }
    ~OpenGraph() { all.erase(&builder_); }
    OpenGraph(const OpenGraph&) = delete;
    OpenGraph& operator=(const OpenGraph&) = delete;

    static OpenGraph* find(const Tensor& symbol) {
        auto found = all.find(symbol.impl()->symbol_owner);
        return found == all.end() ? nullptr : found->second;
    }

    GraphBuilder& builder() { return builder_; }
    Graph& graph() { return builder_.graph(); }
    const Graph& graph() const { return builder_.graph(); }
    const std::map<std::string, std::string>& metadata() const { return metadata_; }

    void change_to(Graph graph) {
        builder_.resume(std::move(graph));
        known_.clear();
    }
    // Returns nullptr if the value is known only at run time.
    const Tensor* known(ValueId id) {
        auto& value = graph().value(id);
        if (value.is_constant()) return &value.constant;
        if (auto found = known_.find(id); found != known_.end()) return &found->second;
        Tensor found = builder_.known_value(id);
        if (!found && needs_no_input(id)) found = computed(id);
        return found ? &(known_[id] = found) : nullptr;
    }
    const Node& maker(ValueId id) const {
        NodeId producer = graph().value(id).producer;
        if (producer < 0) throw_user("graph", text("no operator computes '", name(id), "'"));
        return graph().node(producer);
    }
    // Returns the id of the value's operator: itself for inputs and constants.
    ValueId owner(ValueId id) const {
        NodeId producer = graph().value(id).producer;
        return producer < 0 ? id : graph().node(producer).outputs.at(0);
    }
    std::string name(ValueId id) const {
        auto& value = graph().value(id);
        if (!value.name.empty()) return value.name;
        if (value.producer < 0) return text(value.is_constant() ? "constant#" : "input#", id);
        auto& node = graph().node(value.producer);
        std::string name = node_name(node);
        return node.outputs.size() > 1 ? text(name, ":o", value.output_index) : name;
    }
    std::string operator_name(ValueId id) const {
        NodeId producer = graph().value(id).producer;
        return producer < 0 ? name(id) : node_name(graph().node(producer));
    }

private:
    static inline std::unordered_map<const void*, OpenGraph*> all;  // by builder; guarded by the GIL

    void register_this() { all[&builder_] = this; }

    bool needs_no_input(ValueId id) const {
        auto is_input = [&](ValueId i) { return i != no_value && graph().value(i).is_input; };
        auto needed = needed_nodes(graph(), {id});
        for (size_t i = 0; i < needed.size(); ++i)
            if (needed[i] && std::ranges::any_of(graph().node(NodeId(i)).inputs, is_input)) return false;
        return !is_input(id);
    }

    Tensor computed(ValueId id) const {
        Graph part = graph();
        part.set_inputs({});
        part.set_outputs({id});
        CompileOptions options;
        options.device = default_device();
        return Executable(remove_dead_nodes(std::move(part), {}), std::move(options)).run({}).at(0);
    }

    std::string node_name(const Node& node) const {
        if (!node.name.empty()) return node.name;
        ValueId first = node.outputs.at(0);
        auto& name = graph().value(first).name;
        return name.empty() || node.outputs.size() > 1 ? text(node.op->name, '#', first) : name;
    }

    // Makes the graph its own source and completes its names. If several operators come from one of another
    // framework's, the last one has its name.
    static Graph prepared(Graph graph) {
        graph = name_values(std::move(graph));
        std::set<std::string> taken;
        for (auto id = NodeId(graph.nodes().size()); id-- > 0;) {
            auto& node = graph.node(id);
            if (!node.name.empty() && !taken.insert(node.name).second) node.name.clear();
            node.origins.clear();
            node.sources.clear();
        }
        for (size_t i = 0; i < graph.values().size(); ++i) graph.value(ValueId(i)).origins.clear();
        graph.set_source_nodes(nullptr);
        return graph;
    }

    GraphBuilder builder_;
    std::map<std::string, std::string> metadata_;
    std::map<ValueId, Tensor> known_;
};

Tensor at_default_place(const Tensor& tensor) {
    if (tensor.device() == host_device || !(tensor.device() == default_device())) return tensor;
    Tensor here = to_host(tensor);
    return Tensor(here.spec(), here.impl()->storage, here.impl()->offset);
}

// Calls a method of the graph's Python object.
template <class... Args>
nb::object call_method(OpenGraph& graph, const char* name, Args&&... args) {
    try {
        return nb::find(&graph).attr(name)(std::forward<Args>(args)...);
    } catch (nb::python_error& error) {
        error.restore();
        throw PythonError{};
    }
}

nb::object param_object(const ParamValue& value) {
    return std::visit(
        [](auto& v) -> nb::object {
            if constexpr (std::is_same_v<std::decay_t<decltype(v)>, SubgraphRef>)
                return nb::none();  // nested graphs are not exposed
            else
                return nb::cast(v);
        },
        value);
}

nb::dict params(const OpenGraph& graph, ValueId id) {
    auto& node = graph.maker(id);
    nb::dict result;
    for (auto& field : node.op->fields)
        result[nb::str(field.name.data(), field.name.size())] = param_object(field.get(node.params.get()));
    return result;
}

void set_param(OpenGraph& graph, ValueId id, const std::string& name, nb::handle value) {
    graph.maker(id);
    Graph changed = graph.graph();
    auto& node = changed.node(changed.value(id).producer);
    auto param = param_from_python(value.ptr());
    if (!param) throw_type_error(node.op->name, "parameter '", name, "' cannot be None");
    node.params = with_param(*node.op, node.params.get(), name, *param);
    graph.change_to(infer_again(std::move(changed)));
}

// Returns (type, mode) in MegEngine's terms.
nb::tuple type_of(const OpenGraph& graph, ValueId id) {
    auto& value = graph.graph().value(id);
    if (value.producer < 0)
        return nb::make_tuple(value.is_constant() ? "ImmutableTensor" : "Host2DeviceCopy", "");
    auto& node = graph.maker(id);
    auto found = megengine::counterpart(*node.op, input_specs(graph.graph(), node));
    return nb::make_tuple(found.type, found.mode);
}

Ids inputs_of(const OpenGraph& graph, ValueId id) {
    if (graph.graph().value(id).producer < 0) return {};
    Ids inputs = graph.maker(id).inputs;
    std::erase(inputs, no_value);
    return inputs;
}

Ids outputs_of(const OpenGraph& graph, ValueId id) {
    return graph.graph().value(id).producer < 0 ? Ids{id} : graph.maker(id).outputs;
}

// Throws for the id of no value. Graphs themselves trust their ids.
void require_values(const Graph& graph, const Ids& ids) {
    for (ValueId id : ids) (void)graph.value(id);
}

// Returns the operators, inputs and constants that the values depend on, in topological order.
Ids order(const OpenGraph& graph, const Ids& values) {
    auto& g = graph.graph();
    require_values(g, values);
    std::set<ValueId> seen;
    Ids result;
    auto visit = [&](ValueId id) {
        if (id != no_value && seen.insert(graph.owner(id)).second) result.push_back(graph.owner(id));
    };
    auto needed = needed_nodes(g, values);
    for (size_t i = 0; i < needed.size(); ++i) {
        if (!needed[i]) continue;
        std::ranges::for_each(g.node(NodeId(i)).inputs, visit);
        visit(g.node(NodeId(i)).outputs.at(0));
    }
    std::ranges::for_each(values, visit);
    return result;
}

Ids readers(const OpenGraph& graph, ValueId id) {
    Ids result;
    graph.graph().value(id);  // throws for an unknown id
    for (auto& node : graph.graph().nodes())
        if (std::ranges::find(node.inputs, id) != node.inputs.end()) result.push_back(node.outputs.at(0));
    return result;
}

void set_shape(OpenGraph& graph, const std::map<ValueId, std::vector<int64_t>>& shapes) {
    Graph changed = graph.graph();
    for (auto& [id, extents] : shapes) {
        auto& value = changed.value(id);
        if (!value.is_input) throw_user("graph", text("'", graph.name(id), "' is no input"));
        value.spec.shape = Shape(std::span<const int64_t>(extents));
    }
    graph.change_to(infer_again(std::move(changed)));
}

void set_dtype(OpenGraph& graph, ValueId id, nb::handle dtype) {
    Graph changed = graph.graph();
    auto& value = changed.value(id);
    if (!value.is_input) throw_user("graph", text("'", graph.name(id), "' is no input"));
    value.spec.dtype = parse_dtype(dtype.ptr());
    graph.change_to(infer_again(std::move(changed)));
}

// Absent inputs stay absent. Surplus inputs are appended.
void set_inputs(OpenGraph& graph, ValueId id, const Ids& inputs) {
    Ids all = graph.maker(id).inputs;
    size_t next = 0;
    for (ValueId& input : all) {
        if (input == no_value) continue;
        if (next == inputs.size())
            throw_value_error(graph.maker(id).op->name, "reads more than ", counted(inputs.size(), "value"));
        input = inputs[next++];
    }
    all.insert(all.end(), inputs.begin() + ptrdiff_t(next), inputs.end());
    graph.change_to(with_inputs(graph.graph(), graph.graph().value(id).producer, std::move(all)));
}

void set_constant(OpenGraph& graph, ValueId id, nb::handle tensor) {
    Graph changed = graph.graph();
    auto& value = changed.value(id);
    if (!value.is_constant()) throw_user("graph", text("'", graph.name(id), "' is no constant"));
    const Tensor& given = tensor_argument(tensor, "set_value");
    value.constant = to_host(given);
    value.spec = given.spec();
    graph.change_to(infer_again(std::move(changed)));
}

// Returns (ids in this graph, the complete mapping from the source).
nb::tuple copy_from(OpenGraph& graph, const OpenGraph& source, const Ids& values,
                    std::map<ValueId, ValueId> known) {
    require_values(source.graph(), values);
    for (auto& [from, to] : known) {
        (void)source.graph().value(from);
        (void)graph.graph().value(to);
    }
    Graph changed = graph.graph();
    // Copying within a graph shares unchanged parts, so both arguments must be the same object.
    Ids result = &graph == &source ? copy_values(changed, changed, values, known)
                                   : copy_values(changed, source.graph(), values, known);
    graph.change_to(std::move(changed));
    return nb::make_tuple(result, known);
}

// Without the operators that need other inputs than the graph's: checks of other outputs, which have an
// effect.
Graph without_other_checks(Graph graph) {
    std::vector<bool> is_known(graph.values().size());
    for (size_t id = 0; id < is_known.size(); ++id) is_known[id] = graph.value(ValueId(id)).is_constant();
    for (ValueId id : graph.inputs()) is_known[size_t(id)] = true;
    std::vector<NodeId> kept;
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
        auto& node = graph.nodes()[i];
        auto is_missing = [&](ValueId id) { return id != no_value && !is_known[size_t(id)]; };
        if (std::ranges::any_of(node.inputs, is_missing)) continue;
        for (ValueId id : node.outputs) is_known[size_t(id)] = true;
        kept.push_back(NodeId(i));
    }
    if (kept.size() == graph.nodes().size()) return graph;
    Rewrite rewrite(graph);
    for (NodeId id : kept) rewrite.copy(id);
    return rewrite.finish();
}

nb::object to_model(const OpenGraph& open, const Ids& outputs, const std::vector<std::string>& names,
                    const std::map<std::string, std::string>& metadata, const nb::dict& options,
                    std::tuple<int, bool, bool> kept) {
    Graph graph = open.graph();
    Ids inputs;
    for (ValueId id : order(open, outputs))
        if (graph.value(id).is_input) inputs.push_back(id);
    std::ranges::sort(inputs);  // in order of creation
    graph.set_inputs(inputs);
    graph.set_outputs(outputs);
    std::vector<std::string> input_names;
    for (ValueId id : inputs) input_names.push_back(open.name(id));
    graph = without_other_checks(std::move(graph));
    auto [values, operators, constants] = kept;
    drop_names(graph, {values, operators, constants});
    return model_object(std::move(graph), input_names, names, metadata, options);
}

// Other data may follow a model: appended data, or the rest of a longer model in a file object.
std::span<const std::byte> first_model(std::span<const std::byte> bytes) {
    ModelHeader header;
    if (!is_model(bytes) || bytes.size() < sizeof header) return bytes;
    std::memcpy(&header, bytes.data(), sizeof header);
    return bytes.first(size_t(std::min<uint64_t>(header.file_bytes, bytes.size())));
}

Model read(ModelBytes file) {
    file.bytes = first_model(file.bytes);
    return open_model(file);
}

std::span<const std::byte> octets(const nb::bytes& bytes) {
    return std::as_bytes(std::span(bytes.c_str(), bytes.size()));
}

Model read(nb::bytes bytes, const std::string& label, const OpenOptions& options) {
    auto data = first_model(octets(bytes));
    auto kept = std::make_shared<std::vector<std::byte>>(data.begin(), data.end());
    return read(decrypt_model(ModelBytes{*kept, kept, label}, options));
}

// A key implies that the model must be encrypted.
OpenOptions with_key(const std::optional<nb::bytes>& key) {
    OpenOptions options;
    if (key) options.key = provide_key(SecretBytes(octets(*key)));
    return options;
}

void add_values(nb::class_<OpenGraph>& type) {
    type.def(
            "add_input",
            [](OpenGraph& g, const std::string& name, nb::handle dtype, const std::vector<int64_t>& shape,
               nb::handle device) {
                TensorSpec spec{parse_dtype(dtype.ptr()), Shape(std::span<const int64_t>(shape)), {}};
                DeviceId place = device.is_none() ? DeviceId{} : parse_device_argument(device.ptr());
                return g.graph().add_input(spec, name, place);
            },
            nb::arg("name"), nb::arg("dtype"), nb::arg("shape"), nb::arg("device").none(),
            "Adds an input and returns its value id. A device of None is the device where the graph runs.")
        .def(
            "add_constant",
            [](OpenGraph& g, nb::handle tensor, const std::string& name) {
                return g.graph().add_constant(at_default_place(tensor_argument(tensor, "make_const")), name);
            },
            nb::arg("tensor"), nb::arg("name"), "Adds a constant and returns its value id.")
        .def("copy_from", &copy_from, nb::arg("source"), nb::arg("values"), nb::arg("known"),
             "Copies the computation of `values` of another graph, or of this one, into this graph. The "
             "dict `known` maps values that need no copy to values of this graph. Returns the ids of the "
             "copies and `known` extended by all copied values.")
        .def(
            "bind",
            [](OpenGraph& g, nb::handle tensor, ValueId id) {
                tensor_argument(tensor, "bind");
                (void)g.graph().value(id);
                value_of(tensor.ptr()) = g.builder().symbol(id);
            },
            nb::arg("tensor"), nb::arg("id"), "Makes the Tensor object a symbol of this value.")
        .def(
            "id_of",
            [](OpenGraph& g, nb::handle tensor) {
                const Tensor& given = tensor_argument(tensor, "id_of");
                return g.builder().value_of(given.is_symbolic() ? given : at_default_place(given));
            },
            nb::arg("tensor"),
            "Returns the id of the value of a symbolic Tensor. Any other Tensor is "
            "added as a constant.");
}

void add_queries(nb::class_<OpenGraph>& type) {
    type.def_prop_ro("metadata", [](const OpenGraph& g) { return g.metadata(); })
        .def("owner", &OpenGraph::owner, nb::arg("id"),
             "Returns the id of the first output of the operator that computes a value.")
        .def("name", &OpenGraph::name, nb::arg("id"), "Returns the name of a value; never empty.")
        .def("operator_name", &OpenGraph::operator_name, nb::arg("id"),
             "Returns the name of the operator that computes a value.")
        .def("operator_type", &type_of, nb::arg("id"),
             "Returns MegEngine's type and mode of the operator "
             "that computes a value.")
        .def("params", &params, nb::arg("id"), "Returns the parameters of the operator by name.")
        .def("inputs_of", &inputs_of, nb::arg("id"),
             "Returns the ids of the values that the operator "
             "reads.")
        .def("outputs_of", &outputs_of, nb::arg("id"),
             "Returns the ids of the values that the operator "
             "computes.")
        .def("readers", &readers, nb::arg("id"), "Returns the operators that read a value.")
        .def("order", &order, nb::arg("values"),
             "Returns the operators, inputs and constants that the values depend on, in topological order.")
        .def_prop_ro("inputs", [](const OpenGraph& g) { return g.graph().inputs(); })
        .def_prop_ro("outputs", [](const OpenGraph& g) { return g.graph().outputs(); });
}

void add_changes(nb::class_<OpenGraph>& type) {
    type.def(
            "set_name",
            [](OpenGraph& g, ValueId id, const std::string& name) { g.graph().value(id).name = name; },
            nb::arg("id"), nb::arg("name"), "Renames a value.")
        .def(
            "take_name",
            [](OpenGraph& g, ValueId from, ValueId to) {
                auto &name = g.graph().value(to).name, &source = g.graph().value(from).name;
                if (name.empty()) name = std::exchange(source, {});
            },
            nb::arg("value"), nb::arg("other"),
            "Moves the name of the first value to the second one, unless that has a name.")
        .def(
            "set_operator_name",
            [](OpenGraph& g, ValueId id, const std::string& name) {
                auto& value = g.graph().value(id);
                (value.producer < 0 ? value.name : g.graph().node(value.producer).name) = name;
            },
            nb::arg("id"), nb::arg("name"), "Renames an operator.")
        .def("set_param", &set_param, nb::arg("id"), nb::arg("name"), nb::arg("value"),
             "Sets a parameter of an operator.")
        .def("set_constant", &set_constant, nb::arg("id"), nb::arg("tensor"),
             "Replaces the data of a constant.")
        .def("set_inputs", &set_inputs, nb::arg("id"), nb::arg("inputs"),
             "Replaces the inputs of an operator. There must be at least as many new inputs.")
        .def("set_shapes", &set_shape, nb::arg("shapes"),
             "Changes the shapes of inputs, given by id, and "
             "infers all shapes again.")
        .def("set_dtype", &set_dtype, nb::arg("id"), nb::arg("dtype"),
             "Changes the dtype of an input and infers all dtypes again.")
        .def(
            "set_outputs",
            [](OpenGraph& g, const Ids& ids) {
                require_values(g.graph(), ids);
                g.graph().set_outputs(ids);
            },
            nb::arg("outputs"), "Sets the outputs of the graph.")
        .def(
            "replace",
            [](OpenGraph& g, const std::map<ValueId, ValueId>& by) {
                g.change_to(replace_values(g.graph(), by));
            },
            nb::arg("by"), "Redirects all readers of each key to its value.")
        .def("to_model", &to_model, nb::arg("outputs"), nb::arg("names"), nb::arg("metadata"),
             nb::arg("options"), nb::arg("kept") = std::tuple(2, true, true),
             "Returns the values as the "
             "outputs of a Model.");
}

}  // namespace

Interpreter* graph_of_symbol(const Tensor& symbol) {
    OpenGraph* graph = innermost_capture() ? nullptr : OpenGraph::find(symbol);
    return graph ? &graph->builder() : nullptr;
}

Tensors operands_for_graph(std::span<const Tensor> operands) {
    Tensors result(operands.begin(), operands.end());
    for (auto& operand : result)
        if (operand && !operand.is_symbolic()) operand = at_default_place(operand);
    return result;
}

PyObject* object_of_symbol(const Tensor& symbol) {
    OpenGraph* graph = OpenGraph::find(symbol);
    if (!graph) return nullptr;
    return call_method(*graph, "variable", symbol.impl()->symbol).release().ptr();
}

bool rebind(PyObject* object, const Tensor& symbol) {
    OpenGraph* graph = OpenGraph::find(symbol);
    if (graph) call_method(*graph, "rebind", nb::handle(object), symbol.impl()->symbol);
    return graph != nullptr;
}

const Tensor* value_before_run(const Tensor& symbol) {
    OpenGraph* graph = OpenGraph::find(symbol);
    if (!graph) return nullptr;
    auto* value = graph->known(symbol.impl()->symbol);
    if (!value)
        throw UserError(text("the value of '", graph->name(symbol.impl()->symbol),
                             "' is known only when its graph runs: dump the network and run it, or use "
                             "GraphInference"));
    return value;
}

void add_graphs(PyObject* module_object) {
    nb::module_ module = nb::borrow<nb::module_>(module_object);
    nb::class_<OpenGraph> type(module, "Graph",
                               "A graph that can be edited. Values are identified by integer ids.");
    type.def(
        "__init__",
        [](OpenGraph* self, nb::handle data, const std::string& label, const std::optional<nb::bytes>& key) {
            if (data.is_none())
                new (self) OpenGraph();
            else if (nb::isinstance<nb::str>(data))
                new (self) OpenGraph(read(decrypt_model(nb::cast<std::string>(data), with_key(key))));
            else
                new (self) OpenGraph(read(nb::cast<nb::bytes>(data), label, with_key(key)));
        },
        nb::arg("data") = nb::none(), nb::arg("label") = "", nb::arg("key") = nb::none(),
        "Reads the graph of a model file of any kind, given by its path or its bytes, with the key of an "
        "encrypted one. `label` names it in errors. Without a file the graph is empty.");
    add_values(type);
    add_queries(type);
    add_changes(type);
}

}  // namespace mge::python
