// SPDX-License-Identifier: Apache-2.0
#include "python/src/trace_binding.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <sstream>

#include "libmge/base/hash.h"
#include "libmge/device/default_device.h"
#include "libmge/eager/trace.h"
#include "libmge/inspect/value_names.h"
#include "libmge/kernel/select_settings.h"
#include "libmge/model/model.h"
#include "libmge/model/open.h"
#include "libmge/ops/nn/batch_norm.h"
#include "libmge/passes/pass.h"
#include "python/src/errors.h"
#include "python/src/tensor_arguments.h"

namespace nb = nanobind;

namespace mge::python {
namespace {

// What a model file is made of: its graph, runnable for any input shapes, its test cases and metadata. Its
// default place is where its first input lies.
class LoadedModel {
public:
    explicit LoadedModel(Model model) : model_(std::move(model)) {}

    const Model& model() const { return model_; }
    Model& model() { return model_; }
    Tensors run(std::span<const Tensor> inputs) {
        bool has_place = !inputs.empty() && inputs[0];
        return executable(has_place ? inputs[0].device() : default_device())->run(inputs);
    }

private:
    std::shared_ptr<Executable> executable(DeviceId place) {
        auto settings = select_settings();
        std::lock_guard lock(mutex_);
        if (!executable_ || !(settings == settings_) || !(place == place_)) {
            CompileOptions options;
            options.device = place;
            options.select = with_settings(options.select, settings);
            executable_ = std::make_shared<Executable>(model_.graph, std::move(options));
            settings_ = settings;
            place_ = place;
        }
        return executable_;
    }

    Model model_;
    std::mutex mutex_;
    std::shared_ptr<Executable> executable_;  // made under these settings, for that place
    SelectSettings settings_;
    DeviceId place_;
};

std::vector<std::string> names_of(const Graph& graph, const std::vector<ValueId>& ids) {
    std::vector<std::string> names;
    for (ValueId id : ids) names.push_back(graph.value(id).name);
    return names;
}

void name_values(Graph& graph, const std::vector<ValueId>& ids, const std::vector<std::string>& names,
                 const char* what) {
    if (names.size() != ids.size())
        throw_user(
            "dump",
            text("the function has ", ids.size(), ' ', what, ", but ", names.size(), " names were given"),
            ErrorClass::value);
    if (std::set<std::string>(names.begin(), names.end()).size() != names.size())
        throw_user("dump", text("the names of the ", what, " have to differ"), ErrorClass::value);
    for (size_t i = 0; i < ids.size(); ++i) graph.value(ids[i]).name = names[i];
}

// A file is for inference: a batch norm that still learns would give every batch other results.
void refuse_training(const Graph& graph) {
    for (auto& node : graph.nodes())
        if (node.op == &ops::BatchNorm::info && node.as<ops::BatchNorm::Params>().training)
            throw_user("dump",
                       "a batch norm is in training mode: call eval() on the module before tracing, or say "
                       "training=True to write the graph as it is");
}

// A value that is an input, a constant, or an output twice over gets a copy of its own, so that every output
// has its own name.
void separate_outputs(Graph& graph) {
    std::set<ValueId> seen(graph.inputs().begin(), graph.inputs().end());
    std::vector<ValueId> outputs = graph.outputs();
    const OpInfo* copy = find_op("copy");
    MGE_CHECK(copy);
    for (ValueId& output : outputs) {
        if (graph.value(output).is_constant() || !seen.insert(output).second) {
            NodeId node = graph.add_node(*copy, copy->params.make(), {output});
            output = graph.node(node).outputs[0];
        }
    }
    graph.set_outputs(outputs);
}

// The name that an output has when nobody gives one: that of its operator.
std::vector<std::string> default_output_names(const Graph& graph,
                                              const std::vector<std::string>& input_names) {
    std::vector<std::string> names;
    std::map<std::string, int> used;
    for (auto& name : input_names) used[name] = 1;
    for (ValueId output : graph.outputs()) {
        std::string name(graph.node(graph.value(output).producer).op->name);
        int count = used[name]++;
        names.push_back(count ? text(name, '[', count, ']') : name);
    }
    return names;
}

void refuse_shared_names(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
    for (auto& name : outputs)
        if (std::ranges::find(inputs, name) != inputs.end())
            throw_user("dump", text("'", name, "' names an input and an output; each needs its own"),
                       ErrorClass::value);
}

// Batch norms go into convolutions first, while their scales are still exact.
Graph with_halves(Graph graph) {
    PassOptions options{.level = 0, .fixed_shapes = false};
    options.passes["fold_batch_norm"] = options.passes["store_as_f16"] = true;
    return run_passes(std::move(graph), options);
}

std::shared_ptr<LoadedModel> to_model(const Trace& trace, const std::vector<std::string>& input_names,
                                      const std::vector<std::string>& output_names,
                                      const std::map<std::string, std::string>& metadata, bool store_as_f16,
                                      bool training) {
    Model model;
    model.graph = remove_dead_nodes(trace.graph(), {});
    if (model.graph.outputs().empty())
        throw_user("dump", "the traced function returned no tensor", ErrorClass::value);
    if (!training) refuse_training(model.graph);
    separate_outputs(model.graph);
    auto names = output_names.empty() ? default_output_names(model.graph, input_names) : output_names;
    refuse_shared_names(input_names, names);
    // Before the passes, so that operators are called the same with and without them.
    name_values(model.graph, model.graph.inputs(), input_names, "inputs");
    name_values(model.graph, model.graph.outputs(), names, "outputs");
    if (store_as_f16) model.graph = with_halves(std::move(model.graph));
    model.metadata = metadata;
    return std::make_shared<LoadedModel>(std::move(model));
}

void add_test_case(LoadedModel& model, const std::string& name, nb::handle inputs, bool with_outputs) {
    Tensors values = tensor_list(inputs, "dump");
    TestCase test{name, values, {}};
    if (with_outputs) {
        nb::gil_scoped_release released;
        test.outputs = model.run(values);
    }
    model.model().test_cases.push_back(std::move(test));
}

nb::bytes to_bytes(const LoadedModel& model) {
    TextStream stream;
    write_model(stream, model.model());
    std::string bytes = std::move(stream).str();
    return nb::bytes(bytes.data(), bytes.size());
}

nb::dict statistics(const LoadedModel& model) {
    const Graph& graph = model.model().graph;
    size_t weights = 0;
    nb::list params;
    for (auto& value : graph.values())
        if (value.is_constant()) {
            weights += value.spec.bytes();
            params.append(value.name);
        }
    nb::dict result;
    result["nr_opr"] = graph.nodes().size();
    result["tensor_value_bytes"] = weights;
    result["inputs"] = names_of(graph, graph.inputs());
    result["outputs"] = names_of(graph, graph.outputs());
    result["params"] = params;
    return result;
}

std::vector<std::string> operators(const LoadedModel& model) {
    std::vector<std::string> names;
    for (auto& node : model.model().graph.nodes()) names.emplace_back(node.op->name);
    return names;
}

std::vector<std::string> dtypes(const LoadedModel& model) {
    std::set<std::string> names;
    for (auto& value : model.model().graph.values()) names.emplace(name_of(value.spec.dtype));
    return {names.begin(), names.end()};
}

nb::list run_model(LoadedModel& model, nb::handle inputs) {
    Tensors values = tensor_list(inputs, "Model.run");
    for (auto& value : values)
        if (value) make_concrete(value);
    Tensors outputs;
    {
        nb::gil_scoped_release released;
        outputs = model.run(values);
    }
    return wrap_list(outputs);
}

std::shared_ptr<Trace> make_trace(bool symbolic, bool capture_as_const, bool record_only, int level,
                                  std::optional<bool> jit_fuse_dimshuffle,
                                  std::optional<bool> jit_fuse_reduce,
                                  const std::optional<std::map<std::string, int>>& sublinear,
                                  const std::optional<std::map<std::string, double>>& dtr) {
    TraceOptions options;
    options.symbolic = symbolic;
    options.capture_as_const = capture_as_const;
    options.record_only = record_only;
    options.compile.level = level;
    options.compile.graph_opt.jit_config = {jit_fuse_dimshuffle, jit_fuse_reduce};
    if (sublinear) {
        options.compile.enable_sublinear_memory_opt = true;
        auto& config = options.compile.sublinear_mem_config;
        config.thresh_nr_try = sublinear->at("thresh_nr_try");
        config.genetic_nr_iter = sublinear->at("genetic_nr_iter");
        config.genetic_pool_size = sublinear->at("genetic_pool_size");
        config.lb_memory = size_t(std::max(sublinear->at("lb_memory_mb"), 0));
        config.num_worker = sublinear->at("num_worker");
    }
    if (dtr) {
        options.compile.enable_dtr_memory_opt = true;
        options.compile.dtr_config = {size_t(std::max(dtr->at("eviction_threshold"), 0.0)),
                                      size_t(std::max(dtr->at("evictee_minimum_size"), 0.0)),
                                      dtr->at("recomp_memory_factor"), dtr->at("recomp_time_factor")};
    }
    check(options.compile);
    return std::make_shared<Trace>(options);
}

void add_model(nb::module_& module) {
    nb::class_<LoadedModel>(module, "Model", "A graph with named inputs and outputs, as in a .mge file.")
        .def_prop_ro("input_names",
                     [](const LoadedModel& m) { return names_of(m.model().graph, m.model().graph.inputs()); })
        .def_prop_ro(
            "output_names",
            [](const LoadedModel& m) { return names_of(m.model().graph, m.model().graph.outputs()); })
        .def_prop_ro("metadata", [](const LoadedModel& m) { return m.model().metadata; })
        .def_prop_ro("text", [](const LoadedModel& m) { return to_text(name_values(m.model().graph)); })
        .def("run", &run_model, nb::arg("inputs"),
             "The outputs for a list of Tensors, of any shapes that fit.")
        .def("add_test_case", &add_test_case, nb::arg("name"), nb::arg("inputs"), nb::arg("with_outputs"))
        .def(
            "write", [](const LoadedModel& m, const std::string& path) { write_model(path, m.model()); },
            nb::arg("path"), "Write the file whole or not at all.")
        .def("to_bytes", &to_bytes)
        .def("statistics", &statistics)
        .def_prop_ro("operators", &operators)
        .def_prop_ro("dtypes", &dtypes);
    module.def(
        "load", [](const std::string& path) { return std::make_shared<LoadedModel>(open_model(path)); },
        nb::arg("path"), "Read a model file of any kind: .mge, MegEngine's, packed.");
}

}  // namespace

void add_trace(PyObject* module_object) {
    nb::module_ module = nb::borrow<nb::module_>(module_object);
    nb::class_<Trace>(module, "Trace", "A function recorded once and checked on every later call.")
        .def(nb::new_(&make_trace), nb::arg("symbolic") = false, nb::arg("capture_as_const") = false,
             nb::arg("record_only") = false, nb::arg("opt_level") = 2,
             nb::arg("jit_fuse_dimshuffle") = nb::none(), nb::arg("jit_fuse_reduce") = nb::none(),
             nb::arg("sublinear") = nb::none(), nb::arg("dtr") = nb::none())
        .def(
            "begin", [](Trace& trace, nb::handle arguments) { trace.begin(tensor_list(arguments, "trace")); },
            nb::arg("arguments"), "A call begins on this thread.")
        .def(
            "end",
            [](Trace& trace, nb::handle outputs) {
                Tensors values = tensor_list(outputs, "trace");
                nb::gil_scoped_release released;
                trace.end(values);
            },
            nb::arg("outputs"), "It has ended with these results.")
        .def("abort", &Trace::abort, "It has failed.")
        .def_prop_ro("is_recorded", &Trace::is_recorded)
        .def("to_model", &to_model, nb::arg("input_names"), nb::arg("output_names"),
             nb::arg("metadata") = std::map<std::string, std::string>(), nb::arg("store_as_f16") = false,
             nb::arg("training") = false,
             "The recording as a Model; an empty list of output names takes the operators' names. "
             "store_as_f16: with weights and values between operators as float16. training: with batch "
             "norms that learn.");
    add_model(module);
    module.def(
        "pause_trace",
        []() -> nb::object {
            Trace* trace = Trace::pause();
            return trace ? nb::cast(trace, nb::rv_policy::reference) : nb::none();
        },
        "The running trace steps aside; give what this returns to resume_trace.");
    module.def(
        "resume_trace",
        [](nb::handle trace) {
            if (trace.is_none()) return;
            if (!nb::isinstance<Trace>(trace))
                throw_user("resume_trace",
                           text("needs what pause_trace returned, got ", Py_TYPE(trace.ptr())->tp_name),
                           ErrorClass::type);
            Trace::resume(nb::cast<Trace*>(trace));
        },
        nb::arg("trace").none());
}

}  // namespace mge::python
