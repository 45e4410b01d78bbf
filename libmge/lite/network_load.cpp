// SPDX-License-Identifier: Apache-2.0
// Compiles a model to programs: the settings become options, inputs and outputs.

#include <algorithm>
#include <utility>

#include "libmge/base/text.h"
#include "libmge/compile/known_algorithms.h"
#include "libmge/kernel/packed_weight_cache.h"
#include "libmge/lite/device.h"
#include "libmge/lite/layout.h"
#include "libmge/lite/network_impl.h"
#include "libmge/lite/persistent_cache.h"
#include "libmge/lite/user_memory.h"

namespace lite {
namespace {

constexpr size_t kept_runners = 16;

bool measures(const mge::CompileOptions& options) {
    return options.select.profile || options.measure_layouts;
}

PortOptions port_options(const Settings& settings, mge::DeviceId device,
                         std::shared_ptr<mge::ContextAllocator> allocator) {
    return {.device = device,
            .device_type = settings.configuration.config.device_type,
            .allocator = std::move(allocator),
            .discrete_input = settings.configuration.config.discrete_input_name,
            .configured_outputs_only = settings.configured_outputs_only};
}

// The owner of the outputs' memory. If a run determines their shapes, the user cannot provide it.
OutputMemory output_memory(const mge::CompileOptions& options, bool have_shapes) {
    if (options.force_output_use_user_specified_memory) return OutputMemory::user;
    if (options.force_output_dynamic_alloc) return OutputMemory::lent;
    bool may_be_bound = have_shapes && !options.force_dynamic_alloc;
    return may_be_bound ? OutputMemory::bound : OutputMemory::copied;
}

void allocate_outputs(mge::CompileOptions& options, OutputMemory memory) {
    bool is_bound = memory == OutputMemory::bound || memory == OutputMemory::user;
    options.force_output_use_user_specified_memory = is_bound;
    options.force_output_dynamic_alloc = !is_bound;
}

void require_cpu_settings(const Settings& settings, mge::DeviceId device) {
    if (device.is_host()) return;
    if (settings.configuration.is_in_place)
        throw Error("in-place mode works only on CPUs; the network runs on another device");
    if (settings.threads() > 1)
        throw Error("a number of threads can be set only for CPUs; the network runs on another device");
}

// The model's device, otherwise the CPU.
mge::DeviceId place_in(const mge::Graph& graph) {
    for (auto id : graph.inputs())
        if (auto device = graph.value(id).device; !device.is_default) return device;
    return {};
}

}  // namespace

void require_asynchronous(const Settings& settings) {
    if (settings.configuration.is_in_place)
        throw Error("set_async_callback: in in-place mode forward() computes before it returns");
    if (settings.configuration.config.options.force_output_use_user_specified_memory)
        throw Error("set_async_callback: not allowed with force_output_use_user_specified_memory");
}

Network::NetworkImplBase::NetworkImplBase(const Config& config, const NetworkIO& io) {
    check(config);
    settings_.configuration.config = config;
    settings_.configuration.io = io;
}

Network::NetworkImplBase::~NetworkImplBase() { turn_.wait(); }

void Network::NetworkImplBase::require_loaded(const char* what) const {
    if (!loaded_) throw Error(mge::text(what, ": no model is loaded"));
}

void Network::NetworkImplBase::require_not_loaded(const char* what) const {
    if (loaded_) throw Error(mge::text(what, ": a model is already loaded; call this before loading"));
}

bool Network::NetworkImplBase::is_on_cpu() const {
    if (loaded_) return loaded_->device.is_host();
    auto type = settings_.configuration.config.device_type;
    return type == LITE_CPU || type == LITE_DEVICE_DEFAULT;
}

mge::DeviceId Network::NetworkImplBase::device() const {
    if (loaded_) return loaded_->device;
    auto& config = settings_.configuration.config;
    return device_of(config.device_type, config.device_id, settings_.stream_id);
}

const std::string& Network::NetworkImplBase::extra_info() const {
    static const std::string none;
    return loaded_ ? loaded_->extra_info : none;
}

void Network::NetworkImplBase::load(const std::string& path) {
    load(read_model_file(path, settings_.configuration, settings_.uses_model_info));
}

void Network::NetworkImplBase::load(const void* data, size_t bytes) {
    load(read_model_file(data, bytes, settings_.configuration, settings_.uses_model_info));
}

void Network::NetworkImplBase::load(ModelFile file) {
    if (!file.fastrun_cache.empty())
        add_to_persistent_cache(std::as_bytes(std::span(file.fastrun_cache)), file.model.label);
    auto loaded = std::make_unique<Loaded>();
    loaded->settings = settings_;
    loaded->settings.configuration = std::move(file.configuration);
    loaded->extra_info = std::move(file.extra_info);
    loaded->model = std::make_shared<SharedModel>(std::move(file.model));
    finish_loading(std::move(loaded));
}

void Network::NetworkImplBase::share_weights(NetworkImplBase& source) {
    source.require_loaded("shared_weight_with_network");
    if (&source == this)
        throw Error("shared_weight_with_network: a network already shares its weights with itself");
    auto loaded = std::make_unique<Loaded>();
    loaded->settings = settings_;
    loaded->extra_info = source.loaded_->extra_info;
    loaded->model = source.loaded_->model;
    finish_loading(std::move(loaded));
}

void Network::NetworkImplBase::finish_loading(std::unique_ptr<Loaded> loaded) {
    require_outside("load_model");
    auto lock = alone();
    auto& config = loaded->settings.configuration.config;
    check(config);
    loaded->keeps_places = config.device_type == LITE_DEVICE_DEFAULT;
    loaded->device = loaded->keeps_places
                         ? place_in(loaded->model->graph())
                         : device_of(config.device_type, config.device_id, loaded->settings.stream_id);
    if (callbacks_.async) require_asynchronous(loaded->settings);
    require_cpu_settings(loaded->settings, loaded->device);
    loaded->options = make_options(*loaded);
    auto ports = port_options(loaded->settings, loaded->device, allocator_);
    auto& graph = loaded->model->graph();
    loaded->inputs = make_inputs(graph, loaded->settings.configuration.io, ports);
    loaded->outputs = make_outputs(graph, loaded->settings.configuration.io, ports);
    loaded->skips_next = config.options.fake_next_exec;
    end_runs();
    prepare_ahead(*loaded);
    loaded->note_tensors();
    loaded_ = std::move(loaded);
}

mge::CompileOptions Network::NetworkImplBase::make_options(Loaded& loaded) const {
    auto& settings = loaded.settings;
    auto options = settings.compile_options
                       ? *settings.compile_options
                       : lite::compile_options(settings.configuration.config, settings.policy);
    auto& stored = loaded.model->stored_options();
    loaded.has_stored_options =
        stored && settings.uses_model_info && !settings.measures_layouts && leaves_choice_to_model(options);
    if (loaded.has_stored_options) options = mge::with_stored(options, *stored);
    // A run of the network is left out, not one of each of its programs.
    options.fake_next_exec = false;
    options.device = loaded.device;
    options.threads = threads_option(settings.threads());
    options.measure_layouts = settings.measures_layouts;
    options.keeps_weights = dump_ != nullptr;
    options.const_shape = options.const_shape || loaded.model->has_const_shape();
    if (settings.configuration.is_in_place) options.async_exec_level = 0;
    if (measures(options)) loaded.cache = persistent_cache();
    options.select.cache = loaded.cache.get();
    if (loaded.model->model().is_public)
        options.select.weight_cache = mge::PackedWeightCache::of_user(loaded.model->model().label);
    mge::check(options);
    return options;
}

// Callbacks get the tensors by name; a discrete input has no single tensor.
void Network::NetworkImplBase::Loaded::note_tensors() {
    for (auto& input : inputs)
        if (!input.is_discrete()) start_tensors[input.io.name] = {input.io, input.tensor};
    for (auto& output : outputs) finish_tensors[output.io.name] = {output.io, output.tensor};
}

// Waits for the run in flight, and discards it.
void Network::NetworkImplBase::end_runs() {
    turn_.wait();
    is_pending_ = false;
    failure_ = nullptr;
}

mge::TensorSpecs Network::NetworkImplBase::input_specs(const Loaded& loaded) {
    mge::TensorSpecs specs;
    for (auto& input : loaded.inputs) specs.push_back(input.spec());
    return specs;
}

void Network::NetworkImplBase::prepare_ahead(Loaded& loaded) const {
    for (auto& input : loaded.inputs) input.shape_images();
    bool are_known = std::ranges::all_of(loaded.inputs, [](auto& input) { return input.has_layout(); });
    if (!are_known) return;
    runner_for(loaded, input_specs(loaded)).shape(loaded.outputs);
}

void Network::NetworkImplBase::change_policy(const AlgorithmPolicy& policy) {
    require_outside("set_network_algo_policy");
    auto lock = alone();
    settings_.policy = policy;
    if (!loaded_) return;
    auto before = std::exchange(loaded_->settings.policy, policy);
    try {
        recompile();
    } catch (...) {
        loaded_->settings.policy = settings_.policy = before;
        loaded_->options = make_options(*loaded_);
        throw;
    }
}

void Network::NetworkImplBase::recompile() {
    turn_.wait();
    if (is_pending_) wait();
    loaded_->options = make_options(*loaded_);
    auto runners = std::exchange(loaded_->runners, {});
    auto first = std::exchange(loaded_->first, nullptr);
    try {
        prepare_ahead(*loaded_);
    } catch (...) {
        loaded_->runners = std::move(runners);
        loaded_->first = std::move(first);
        throw;
    }
}

// Shapes that the first program has fixed.
void Network::NetworkImplBase::require_shapes(const Loaded& loaded, const mge::TensorSpecs& inputs) const {
    bool is_recorded = loaded.options.comp_node_seq_record_level == 2;
    if (!loaded.first || !(loaded.options.const_shape || is_recorded)) return;
    for (size_t i = 0; i < inputs.size(); ++i)
        if (auto& fixed = loaded.first->inputs()[i].spec; !(fixed == inputs[i]))
            throw Error(mge::text("input '", loaded.inputs[i].io.name, "' is ", inputs[i], "; ",
                                  is_recorded ? "comp_node_seq_record_level 2" : "const_shape",
                                  " has fixed it to ", fixed));
}

// By output of the network.
mge::TensorSpecs Network::NetworkImplBase::output_specs(const Loaded& loaded,
                                                        const mge::TensorSpecs& inputs) {
    return loaded.model->output_specs(inputs, ids_of(loaded.model->graph(), loaded.outputs));
}

// A program for further sizes of the inputs, too. Its runs allocate their outputs.
std::optional<mge::OpenProgram> Network::NetworkImplBase::open_program(Loaded& loaded, ProgramRequest request,
                                                                       OutputMemory memory) {
    if (memory == OutputMemory::user) return std::nullopt;
    std::vector<mge::TensorSpecs> specs;
    std::vector<const mge::TensorSpecs*> earlier;
    for (auto& runner : loaded.runners)
        if (!runner->is_open()) specs.push_back(mge::specs_of(runner->program().inputs()));
    for (auto& each : specs) earlier.push_back(&each);
    allocate_outputs(request.options, OutputMemory::lent);
    return loaded.model->open(request, earlier, loaded.open_programs);
}

std::unique_ptr<Runner> Network::NetworkImplBase::make_runner(Loaded& loaded,
                                                              const mge::TensorSpecs& inputs) const {
    require_shapes(loaded, inputs);
    mge::TensorSpecs specs = output_specs(loaded, inputs);
    auto& ids = loaded.model->graph().outputs();
    ProgramRequest request{.options = loaded.options,
                           .outputs = {},
                           .inputs = inputs,
                           .keeps_places = loaded.keeps_places,
                           .has_stored_options = loaded.has_stored_options};
    std::vector<size_t> computed;
    bool have_shapes = true;
    for (size_t i = 0; i < loaded.outputs.size(); ++i) {
        auto& output = loaded.outputs[i];
        bool is_known = specs[i].shape.is_known();
        if (is_known && output.io.io_type == LITE_IO_SHAPE) continue;
        have_shapes = have_shapes && is_known;
        computed.push_back(i);
        request.outputs.push_back(ids[output.index]);
    }
    auto& options = request.options;
    // The check of a first run would read all weights again for each new shape.
    if (loaded.first) options.var_sanity_check_first_run = false;
    RunnerOptions how{memory_, allocator_, output_memory(loaded.options, have_shapes), nullptr};
    std::shared_ptr<const mge::Program> program;
    if (auto open = open_program(loaded, request, how.output_memory)) {
        program = std::move(open->program);
        how.open = std::move(open->open);
        if (how.output_memory != OutputMemory::lent) how.output_memory = OutputMemory::fitting;
    } else {
        allocate_outputs(options, how.output_memory);
        if (options.no_profiling_on_shape_change && loaded.first)
            options = mge::with_known_algorithms(options, *loaded.first);
        program = loaded.model->find(request);
    }
    if (!loaded.first) loaded.first = program;
    bool drops_graph = options.comp_node_seq_record_level == 2 && loaded.model.use_count() == 1;
    if (drops_graph) loaded.model->forget_nodes();
    auto runner = std::make_unique<Runner>(std::move(program), std::move(specs), std::move(computed), how);
    runner->profile(!profile_path_.empty());
    runner->dump_to(dump_ ? dump_->sink() : nullptr);
    return runner;
}

Runner& Network::NetworkImplBase::runner_for(Loaded& loaded, const mge::TensorSpecs& inputs) const {
    auto& runners = loaded.runners;
    for (auto it = runners.begin(); it != runners.end(); ++it)
        if ((*it)->is_for(inputs)) {
            runners.splice(runners.begin(), runners, it);
            if (runners.front()->is_open()) runners.front()->expect(output_specs(loaded, inputs));
            return *runners.front();
        }
    runners.push_front(make_runner(loaded, inputs));
    if (runners.size() > kept_runners) {
        auto oldest = std::prev(runners.end());
        // wait() has still to look at the one that runs.
        if (oldest->get() == running_) --oldest;
        runners.erase(oldest);
    }
    return *runners.front();
}

void Network::NetworkImplBase::share_memory(NetworkImplBase& source) {
    require_not_loaded("share_runtime_memory_with");
    if (&source == this)
        throw Error("share_runtime_memory_with: a network already shares its memory with itself");
    if (allocator_)
        throw Error(
            "share_runtime_memory_with: this network has its own allocator; set the allocator of the other "
            "network instead");
    memory_ = source.memory_;
    has_shared_memory_ = true;
}

void Network::NetworkImplBase::set_allocator(std::shared_ptr<Allocator> allocator) {
    require_not_loaded("set_memory_allocator");
    if (!allocator) throw Error("set_memory_allocator: the allocator is null");
    if (has_shared_memory_)
        throw Error(
            "set_memory_allocator: this network uses the memory of another one; set the allocator of that "
            "network");
    allocator_ = user_memory(std::move(allocator));
    memory_ = std::make_shared<mge::ContextMemory>(allocator_);
}

}  // namespace lite
