// SPDX-License-Identifier: Apache-2.0
#include "python/src/trace_binding.h"
#include "python/src/object_access.h"
#include "python/src/tensor/conversion.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>

#include "libmge/base/hash.h"
#include "libmge/compat/megengine_options.h"
#include "libmge/device/default_device.h"
#include "libmge/eager/trace.h"
#include "libmge/graph/infer.h"
#include "libmge/inspect/profile/call_profiler.h"
#include "libmge/inspect/value_names.h"
#include "libmge/kernel/packed_weight_cache.h"
#include "libmge/kernel/select_settings.h"
#include "libmge/model/export/onnx/onnx.h"
#include "libmge/model/import/megengine/counterparts.h"
#include "libmge/model/import/onnx/onnx.h"
#include "libmge/model/model.h"
#include "libmge/model/open.h"
#include "libmge/model/stored_options.h"
#include "libmge/op/backend.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/nn/batch_norm/batch_norm.h"
#include "libmge/passes/pass.h"
#include "libmge/tensor/borrowed.h"
#include "python/src/dimension_names.h"
#include "python/src/errors.h"
#include "python/src/gil.h"
#include "python/src/graph_binding.h"
#include "python/src/graph_names.h"
#include "python/src/model_opening.h"
#include "python/src/tensor/tensor_arguments.h"

namespace nb = nanobind;

namespace mge::python {
namespace {

// The content of a model file: its graph, runnable for any input shapes, test cases and metadata. Its default
// device is that of the first input.
class LoadedModel {
public:
    // Runs with `options`, except those that the model stores itself. Throws ModelError if the stored options
    // cannot be read.
    explicit LoadedModel(Model model, CompileOptions options = {})
        : model_(std::move(model)), carried_(std::move(options)) {
        if (auto stored = stored_options(model_)) carried_ = with_stored(carried_, *stored);
        carried_.const_shape = carried_.const_shape || has_const_shape(model_);
        check(carried_);
    }

    const Model& model() const { return model_; }
    Model& model() { return model_; }
    Tensors run(std::span<const Tensor> inputs, StepObserver* observer = nullptr,
                const std::vector<bool>& is_donated = {}) {
        auto first = std::ranges::find_if(inputs, [](auto& input) { return bool(input); });
        return executable(first == inputs.end() ? default_device() : first->device())
            ->run(inputs, observer, is_donated);
    }

private:
    std::shared_ptr<Executable> executable(DeviceId place) {
        auto settings = select_settings();
        std::lock_guard lock(mutex_);
        if (!executable_ || !(settings == settings_) || !(place == place_)) {
            CompileOptions options = carried_;
            options.device = place;
            options.select = with_settings(options.select, settings);
            if (model_.is_public) options.select.weight_cache = PackedWeightCache::of_user(model_.label);
            executable_ = std::make_shared<Executable>(model_.graph, std::move(options));
            settings_ = settings;
            place_ = place;
        }
        return executable_;
    }

    Model model_;
    CompileOptions carried_;  // stored in the model
    std::mutex mutex_;
    std::shared_ptr<Executable> executable_;  // compiled for settings_ and place_
    SelectSettings settings_;
    DeviceId place_;
};

void name_values(Graph& graph, const std::vector<ValueId>& ids, const std::vector<std::string>& names,
                 const char* what) {
    if (names.size() != ids.size())
        throw_value_error("dump", "the function has ", ids.size(), ' ', what, ", but ", names.size(),
                          " names were given");
    if (std::set<std::string>(names.begin(), names.end()).size() != names.size())
        throw_value_error("dump", "the names of the ", what, " have to differ");
    for (size_t i = 0; i < ids.size(); ++i) graph.value(ids[i]).name = names[i];
}

// Files are for inference: a batch norm in training mode would give different results for every batch.
void refuse_training(const Graph& graph) {
    for (auto& node : graph.nodes())
        if (node.op == &ops::BatchNorm::info && node.as<ops::BatchNorm::Params>().training)
            throw_user("dump",
                       "a batch norm is in training mode: call eval() on the module before tracing, or say "
                       "training=True to write the graph as it is");
}

// Copies outputs that are inputs, constants or duplicates, so that every output has its own name.
void separate_outputs(Graph& graph) {
    std::set<ValueId> seen(graph.inputs().begin(), graph.inputs().end());
    std::vector<ValueId> outputs = graph.outputs();
    for (ValueId& output : outputs) {
        if (graph.value(output).is_constant() || !seen.insert(output).second) {
            NodeId node = graph.add_node(ops::Copy::info, ops::Copy::info.params.make(), {output});
            output = graph.node(node).outputs[0];
        }
    }
    graph.set_outputs(outputs);
}

// Returns the default names of outputs: their own, else those of their operators.
std::vector<std::string> default_output_names(const Graph& graph,
                                              const std::vector<std::string>& input_names) {
    std::vector<std::string> names;
    std::map<std::string, int> used;
    for (auto& name : input_names) used[name] = 1;
    for (ValueId output : graph.outputs()) {
        std::string name = graph.value(output).name;
        if (name.empty()) name = graph.node(graph.value(output).producer).op->name;
        int count = used[name]++;
        names.push_back(count ? text(name, '[', count, ']') : name);
    }
    return names;
}

// Fills empty names from `others`.
std::vector<std::string> completed(std::vector<std::string> given, const std::vector<std::string>& others) {
    for (size_t i = 0; i < std::min(given.size(), others.size()); ++i)
        if (given[i].empty()) given[i] = others[i];
    return given;
}

void refuse_shared_names(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
    for (auto& name : outputs)
        if (std::ranges::find(inputs, name) != inputs.end())
            throw_value_error("dump", "'", name, "' names an input and an output; each needs its own");
}

// Folds batch norms into convolutions first, while their scales are exact.
Graph with_halves(Graph graph) {
    PassOptions options{.level = 0, .fixed_shapes = false};
    options.passes["fold_batch_norm"] = options.passes["store_as_f16"] = true;
    return run_passes(std::move(graph), options);
}

void fold_batch_norms(LoadedModel& model) {
    PassOptions options{.level = 0, .fixed_shapes = false};
    options.passes["fold_batch_norm"] = true;
    Graph& graph = model.model().graph;
    graph = remove_dead_nodes(run_passes(std::move(graph), options), {});
}

OptionValue to_option_value(nb::handle value, std::string_view keyword) {
    if (value.is_none()) return {};
    if (nb::isinstance<nb::bool_>(value)) return nb::cast<bool>(value);
    if (nb::isinstance<nb::int_>(value)) {
        int64_t number = 0;
        if (nb::try_cast(value, number)) return number;
        throw_value_error(keyword, "is too large");
    }
    if (nb::isinstance<nb::float_>(value)) return nb::cast<double>(value);
    if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
    std::vector<std::string> texts;
    if (nb::try_cast(value, texts)) return texts;
    throw_type_error(keyword, "cannot be a ", class_name(value.ptr()));
}

nb::object to_object(const OptionValue& value) {
    return std::visit(
        [](auto& v) -> nb::object {
            if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::monostate>)
                return nb::none();
            else
                return nb::cast(v);
        },
        value);
}

// Parses options by name.
CompileOptions to_options(const nb::dict& given, OptionNaming naming = compat::keyword_of) {
    CompileOptions options{.naming = naming};
    for (auto [key, value] : given)
        if (auto name = nb::cast<std::string>(key); !compat::find_named_option(name))
            throw_value_error("options", "there is no option '", name, "'");
    for (auto& option : compat::named_options())
        if (nb::str name(option.name.data(), option.name.size()); given.contains(name))
            set_option(options, option, to_option_value(given[name], naming(option.field)));
    check(options);
    options.naming = compat::path_of;
    return options;
}

bool has_settings(const CompileOptions& options) {
    return std::ranges::any_of(compat::named_options(), [&](auto& option) {
        return option.get(options) != option.get(CompileOptions());
    });
}

// Returns the option list, for functions that take keywords.
nb::list list_options() {
    nb::list result;
    for (auto& option : compat::named_options()) {
        nb::dict row;
        row["name"] = option.name;
        row["path"] = option.path;
        row["flag"] = option.flag;
        row["keyword"] = option.keyword;
        row["field"] = option.field;
        row["unit"] = option.unit;
        row["doc"] = option.doc;
        row["default"] = default_text(option);
        row["value"] = to_object(option.get(CompileOptions()));
        nb::list words;
        for (auto word : option.words) words.append(word);
        row["words"] = words;
        result.append(row);
    }
    return result;
}

// Returns field and description of the options that only C++ programs can give.
std::vector<std::pair<std::string_view, std::string_view>> list_cpp_options() {
    std::vector<std::pair<std::string_view, std::string_view>> result;
    for (auto& option : compile_option_list())
        if (!option.is_value()) result.emplace_back(option.field, option.doc);
    return result;
}

std::shared_ptr<LoadedModel> make_model(Graph graph, const std::vector<std::string>& input_names,
                                        const std::vector<std::string>& output_names,
                                        const std::map<std::string, std::string>& metadata,
                                        const nb::dict& given) {
    CompileOptions options = to_options(given);
    Model model;
    model.graph = remove_dead_nodes(std::move(graph), {});
    separate_outputs(model.graph);
    auto names = default_output_names(model.graph, input_names);
    if (!output_names.empty()) names = completed(output_names, names);
    refuse_shared_names(input_names, names);
    // Before the passes, so that operators have the same names with and without them.
    name_values(model.graph, model.graph.inputs(), input_names, "inputs");
    name_values(model.graph, model.graph.outputs(), names, "outputs");
    number_equal_values(model.graph);
    auto& switches = options.switches;
    if (switches.uses_half()) model.graph = with_halves(std::move(model.graph));
    switches.compute_half = switches.store_half = false;  // done
    model.metadata = metadata;
    if (has_settings(options)) store_options(model, options);
    return std::make_shared<LoadedModel>(std::move(model), std::move(options));
}

// Converts a list of (Tensor, name).
TensorNames tensor_names(nb::handle list) {
    TensorNames names;
    for (nb::handle pair : list)
        names.emplace_back(tensor_argument(pair[0], "dump"), nb::cast<std::string>(pair[1]));
    return names;
}

std::shared_ptr<LoadedModel> recording_as_model(
    const Trace& trace, const std::vector<std::string>& input_names,
    const std::vector<std::string>& output_names, const std::map<std::string, std::string>& metadata,
    const nb::dict& given, bool training, std::tuple<int, bool, bool> kept, NameScopes scopes,
    nb::handle tensors, bool separates_biases, bool checks_kept_values) {
    Graph graph = trace.graph(tensor_names(tensors), checks_kept_values);
    if (separates_biases) graph = separate_biases(graph, scopes);
    name_recorded(graph, scopes);
    auto [values, operators, constants] = kept;
    drop_names(graph, {values, operators, constants});
    graph = remove_dead_nodes(std::move(graph), {});
    if (graph.outputs().empty()) throw_value_error("dump", "the traced function returned no tensor");
    if (!training) refuse_training(graph);
    return make_model(std::move(graph), input_names, output_names, metadata, given);
}

void add_test_case(LoadedModel& model, const std::string& name, nb::handle inputs, bool with_outputs,
                   std::optional<double> max_error) {
    Tensors values = tensor_list(inputs, "dump");
    TestCase test{name, values, {}};
    if (with_outputs) {
        GilReleased released;
        test.outputs = model.run(values);
    }
    test.max_error = max_error;
    for (auto* tensors : {&test.inputs, &test.outputs})
        for (auto& tensor : *tensors) tensor = to_host(tensor);
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
    size_t weights = 0, constants = 0;
    nb::list params;
    for (auto& value : graph.values())
        if (value.is_constant()) {
            ++constants;
            weights += value.spec.bytes();
            if (!value.name.empty()) params.append(value.name);
        }
    nb::dict result;
    // Sources of inputs and constants count, as in MegEngine.
    result["nr_opr"] = graph.inputs().size() + constants + graph.nodes().size();
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

// Returns (type, mode) of each operator in MegEngine's terms.
nb::list counterparts(const LoadedModel& model) {
    const Graph& graph = model.model().graph;
    nb::list result;
    for (auto& node : graph.nodes()) {
        auto found = megengine::counterpart(*node.op, input_specs(graph, node));
        result.append(nb::make_tuple(found.type, found.mode));
    }
    return result;
}

std::vector<std::string> dtypes(const LoadedModel& model) {
    std::set<std::string> names;
    for (auto& value : model.model().graph.values()) names.emplace(name_of(value.spec.dtype));
    return {names.begin(), names.end()};
}

// Returns by input whether results may take its memory: it is donated, begins with the input, and belongs to
// no other input.
std::vector<bool> given_up(std::span<const Tensor> inputs, const std::vector<size_t>& donated) {
    std::vector<bool> is_donated(inputs.size());
    for (size_t i : donated) {
        if (i >= inputs.size() || !inputs[i]) continue;
        auto* impl = inputs[i].impl();
        auto is_same = [&](const Tensor& x) { return x && x.impl()->storage.get() == impl->storage.get(); };
        is_donated[i] = impl->offset == 0 && !is_borrowed(*impl->storage.get()) &&
                        std::ranges::count_if(inputs, is_same) == 1;
    }
    return is_donated;
}

nb::list run_model(LoadedModel& model, nb::handle inputs, StepObserver* observer,
                   const std::vector<size_t>& donated = {}) {
    auto& graph = model.model().graph;
    Tensors values;
    // Arrays among the inputs become Tensors on the device of the others.
    std::optional<DefaultDevice> beside;
    for (nb::handle input : inputs)
        if (!beside && is_tensor(input.ptr())) beside.emplace(value_of(input.ptr()).device());
    for (nb::handle input : inputs) {
        size_t i = values.size();
        bool is_known = i < graph.inputs().size() && !input.is_none();
        values.push_back(is_known
                             ? model_input_from_python(input.ptr(), graph.value(graph.inputs()[i]).spec.dtype)
                             : Tensor());
    }
    Tensors outputs;
    {
        GilReleased released;
        outputs = model.run(values, observer, given_up(values, donated));
    }
    return wrap_list(outputs);
}

std::shared_ptr<Trace> make_trace(bool symbolic, bool capture_as_const, bool record_only,
                                  const nb::dict& options) {
    return std::make_shared<Trace>(
        TraceOptions{symbolic, capture_as_const, record_only, to_options(options)});
}

Tensors trace_arguments(nb::handle arguments) {
    Tensors values = tensor_list(arguments, "trace");
    if (graph_among(values))
        throw_type_error(
            "trace",
            "a value of a graph cannot be an argument: call the function itself, which extends the graph");
    return values;
}

std::string megengine_profile(const CallProfiler& profiler) {
    TextStream stream;
    write_megengine_profile(stream, profiler.profile());
    return std::move(stream).str();
}

void add_profiler(nb::module_& module) {
    nb::class_<CallProfiler>(module, "CallProfiler",
                             "Records the programs that one call of a traced function or of a Model runs.")
        .def(nb::init<>())
        .def_prop_ro("is_empty", &CallProfiler::is_empty, "No program ran to its end.")
        .def("to_megengine", &megengine_profile,
             "Returns the recording as the JSON of MegEngine's graph profiles.");
}

// Returns (shape, dtype) of each input; None for an unknown shape.
nb::list input_specs(const LoadedModel& loaded) {
    const Graph& graph = loaded.model().graph;
    nb::list specs;
    for (ValueId id : graph.inputs()) {
        const TensorSpec& spec = graph.value(id).spec;
        nb::object shape = nb::none();
        if (spec.shape.is_known()) {
            nb::list extents;
            for (int64_t extent : spec.shape.dims()) extents.append(extent);
            shape = nb::tuple(extents);
        }
        specs.append(nb::make_tuple(shape, std::string(name_of(spec.dtype))));
    }
    return specs;
}

// For the reference: by operator, the dtypes that it accepts at most, whether it has a gradient, and its
// algorithms on CPUs, the preferred one first; families of several are listed as "onednn:…".
nb::dict operator_facts() {
    nb::dict result;
    for (auto* op : all_ops()) {
        std::vector<std::string> dtypes, algorithms;
        for (int i = 0; i < dtype_count; ++i)
            if (DType(i) != DType::none && is_among(DType(i), op->takes))
                dtypes.emplace_back(name_of(DType(i)));
        for (auto& algorithm : find_kernels(*op, host_device))
            algorithms.push_back(text(algorithm.name, algorithm.candidates ? ":…" : ""));
        result[op->name.data()] = nb::make_tuple(dtypes, op->gradient != nullptr, algorithms);
    }
    return result;
}

void add_writing(nb::class_<LoadedModel>& model) {
    model
        .def(
            "write",
            [](const LoadedModel& m, const std::filesystem::path& path) {
                GilReleased released;
                write_model(path.string(), m.model());
            },
            nb::arg("path"), "Writes the file completely or not at all.")
        .def("to_bytes", &to_bytes)
        .def(
            "write_onnx",
            [](const LoadedModel& m, const std::filesystem::path& path, int opset, size_t most_inner_bytes) {
                GilReleased released;
                write_onnx(path.string(), m.model(), {opset, most_inner_bytes});
            },
            nb::arg("path"), nb::arg("opset") = default_onnx_opset,
            nb::arg("most_inner_bytes") = OnnxOptions{}.most_inner_bytes,
            "Writes an ONNX file completely or not at all. Larger weights than the given number of bytes "
            "are stored in PATH.data.")
        .def(
            "to_onnx_bytes",
            [](const LoadedModel& m, int opset) {
                std::string bytes = onnx_bytes(m.model(), {.opset = opset});
                return nb::bytes(bytes.data(), bytes.size());
            },
            nb::arg("opset") = default_onnx_opset);
}

void add_model(nb::module_& module) {
    nb::class_<LoadedModel> model(module, "Model",
                                  "A graph with named inputs and outputs, as in a .mge file.");
    model
        .def_prop_ro("input_names",
                     [](const LoadedModel& m) { return names_of(m.model().graph, m.model().graph.inputs()); })
        .def_prop_ro("input_specs", &input_specs)
        .def_prop_ro(
            "input_shapes", [](const LoadedModel& m) { return input_shapes_of(m.model().graph); },
            "Returns the shapes by name. An open dimension is its name, or None without one.")
        .def_prop_ro(
            "output_names",
            [](const LoadedModel& m) { return names_of(m.model().graph, m.model().graph.outputs()); })
        .def_prop_ro("metadata", [](const LoadedModel& m) { return m.model().metadata; })
        .def_prop_ro("text", [](const LoadedModel& m) { return to_text(name_values(m.model().graph)); })
        .def(
            "run",
            [](LoadedModel& m, nb::handle inputs, const std::vector<size_t>& donated) {
                return run_model(m, inputs, nullptr, donated);
            },
            nb::arg("inputs"), nb::arg("donated") = std::vector<size_t>(),
            "Computes the outputs for a list of Tensors or arrays of any compatible "
            "shapes. donated: numbers of inputs whose memory the outputs may take.")
        .def(
            "run_profiled",
            [](LoadedModel& m, nb::handle inputs, CallProfiler& profiler) {
                return run_model(m, inputs, &profiler);
            },
            nb::arg("inputs"), nb::arg("profiler"),
            "Computes the outputs and records the run with a "
            "CallProfiler.")
        .def("fold_batch_norms", &fold_batch_norms,
             "Folds batch normalisations of inference into the weights of the preceding layers. Call it "
             "before the first run.")
        .def("add_test_case", &add_test_case, nb::arg("name"), nb::arg("inputs"), nb::arg("with_outputs"),
             nb::arg("max_error") = nb::none())
        .def("statistics", &statistics)
        .def_prop_ro("operators", &operators)
        .def_prop_ro("counterparts", &counterparts)
        .def_prop_ro("dtypes", &dtypes);
    add_writing(model);
}

void add_reading(nb::module_& module) {
    module.def(
        "load",
        [](const std::filesystem::path& path) { return std::make_shared<LoadedModel>(open_path(path)); },
        nb::arg("path"), "Reads a model file of any kind: .mge, MegEngine, packed or ONNX.");
    module.def(
        "load", [](const nb::bytes& content) { return std::make_shared<LoadedModel>(open_content(content)); },
        nb::kw_only(), nb::arg("content"), "Reads the content of such a file.");
    module.def(
        "starts_like_model",
        [](const nb::bytes& start) {
            auto kind = recognise_model({static_cast<const std::byte*>(start.data()), start.size()});
            return kind && *kind != ModelKind::onnx;
        },
        nb::arg("start"),
        "True if the first bytes of a file are those of a model. ONNX models have no such signature.");
    module.def("onnx_rows", &onnx::known_operators,
               "Returns the supported ONNX operators as (name, first version, last version).");
    module.def("onnx_counterparts", &onnx_counterparts,
               "Returns the operators and the ONNX nodes that "
               "they are exported as.");
    module.def("operator_facts", &operator_facts,
               "Returns, by operator, its dtypes, whether it has a gradient, and its algorithms on CPUs.");
}

void add_functions(nb::module_& module) {
    module.def(
        "list_options", &list_options,
        "Returns the compile options. Each has a name, the path in MegEngine's options, the flag of "
        "load_and_run, the keyword, the field in C++, the unit, the description, the default as text and "
        "as a value, and the words that it accepts.");
    module.def("list_cpp_options", &list_cpp_options,
               "Returns the field and the description of the options that only C++ programs can set.");
    module.def(
        "check_options", [](const nb::dict& given) { to_options(given, compat::path_of); },
        nb::arg("options"),
        "Raises an error if options, given by name, do not exist or contradict each other.");
    module.def(
        "pause_trace",
        []() -> nb::object {
            Trace* trace = Trace::pause();
            return trace ? nb::cast(trace, nb::rv_policy::reference) : nb::none();
        },
        "Suspends the running trace. Returns a token for resume_trace.");
    module.def(
        "shape_arguments",
        [](nb::handle object) { return Trace::shape_arguments(tensor_argument(object, "shape_arguments")); },
        "Returns the numbers of the arguments of the traced function whose shapes determine the value of "
        "the Tensor.");
    module.def(
        "arguments_of",
        [](nb::handle object, bool by_value) {
            return Trace::arguments_of(tensor_argument(object, "arguments_of"), by_value);
        },
        nb::arg("tensor"), nb::arg("by_value") = false,
        "Returns the numbers of the arguments of the traced function from which the Tensor is computed; "
        "from their values, not only their shapes, if by_value.");
    module.def(
        "keep_value",
        [](nb::handle object, std::string claim) {
            Trace::keep_value(tensor_argument(object, "keep_value"), std::move(claim));
        },
        nb::arg("tensor"), nb::arg("claim"),
        "Notes that the recording is only valid while the Tensor, whose value shapes determine, keeps its "
        "value. The error message for another value begins with `claim`.");
    module.def(
        "keep_length",
        [](nb::handle object, std::string claim) {
            Trace::keep_length(tensor_argument(object, "keep_length"), std::move(claim));
        },
        nb::arg("tensor"), nb::arg("claim"),
        "Notes that the recording is only valid while axis 0 of the Tensor keeps its size. The error "
        "message for another size begins with `claim`.");
    module.def(
        "resume_trace",
        [](nb::handle trace) {
            if (trace.is_none()) return;
            if (!nb::isinstance<Trace>(trace))
                throw_type_error("resume_trace", "needs what pause_trace returned, got ",
                                 class_name(trace.ptr()));
            Trace::resume(nb::cast<Trace*>(trace));
        },
        nb::arg("trace").none());
}

}  // namespace

nb::object model_object(Graph graph, const std::vector<std::string>& input_names,
                        const std::vector<std::string>& output_names,
                        const std::map<std::string, std::string>& metadata, const nb::dict& options) {
    return nb::cast(make_model(std::move(graph), input_names, output_names, metadata, options));
}

void add_trace(PyObject* module_object) {
    nb::module_ module = nb::borrow<nb::module_>(module_object);
    add_profiler(module);
    nb::class_<Trace>(module, "Trace", "A function that is recorded once and checked on every later call.")
        .def(nb::new_(&make_trace), nb::arg("symbolic") = false, nb::arg("capture_as_const") = false,
             nb::arg("record_only") = false, nb::arg("options") = nb::dict(),
             "options: compile options by name (list_options).")
        .def(
            "begin", [](Trace& trace, nb::handle arguments) { trace.begin(trace_arguments(arguments)); },
            nb::arg("arguments"), "Begins a call on this thread.")
        .def(
            "begin_profiled",
            [](Trace& trace, nb::handle arguments, std::shared_ptr<CallProfiler> profiler) {
                trace.begin(trace_arguments(arguments), std::move(profiler));
            },
            nb::arg("arguments"), nb::arg("profiler"),
            "Begins a call on this thread and records it with a "
            "CallProfiler.")
        .def(
            "end",
            [](Trace& trace, nb::handle outputs) {
                Tensors values = tensor_list(outputs, "trace");
                GilReleased released;
                trace.end(values);
            },
            nb::arg("outputs"), "Ends the call with these results.")
        .def("abort", &Trace::abort, nb::call_guard<GilReleased>(), "Ends a failed call.")
        .def_prop_ro("is_recorded", &Trace::is_recorded)
        .def("open_lengths", &Trace::open_lengths,
             "Returns the claims of keep_length that fail for some shapes of the arguments.")
        .def_prop_ro("step_count", &Trace::step_count, "Returns the number of recorded operators.")
        .def("to_model", &recording_as_model, nb::arg("input_names"), nb::arg("output_names"),
             nb::arg("metadata") = std::map<std::string, std::string>(), nb::arg("options") = nb::dict(),
             nb::arg("training") = false, nb::arg("kept") = std::tuple(1, false, false),
             nb::arg("scopes") = NameScopes(), nb::arg("tensors") = nb::list(),
             nb::arg("separates_biases") = false, nb::arg("checks_kept_values") = false,
             "Returns the recording as a Model. An empty list of output names selects the names of the "
             "operators. options: compile options by name (list_options) that the model stores; "
             "f16_io_comp and f16_io_f32_comp are applied at once. training: keeps batch normalisations in "
             "training mode. kept: which values (2: all), operators and constants get names, made from the "
             "modules that ran (scopes, by step) and their tensors. separates_biases: a convolution or "
             "product with a bias becomes two operators. checks_kept_values: the model refuses shapes for "
             "which the values of keep_value or keep_length are others.");
    add_model(module);
    add_reading(module);
    add_functions(module);
}

}  // namespace mge::python
