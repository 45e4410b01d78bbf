// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/session.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "apps/cli/options/cache_file.h"
#include "apps/cli/output/progress.h"
#include "apps/load_and_run/compile_options.h"
#include "apps/load_and_run/measure/clock.h"
#include "libmge/base/files/file.h"
#include "libmge/base/log.h"
#include "libmge/compile/known_algorithms.h"
#include "libmge/device/device.h"
#include "libmge/inspect/memory.h"
#include "libmge/inspect/value_names.h"
#include "libmge/kernel/packed_weight_cache.h"
#include "libmge/model/crypt/encrypted_file.h"
#include "libmge/model/open.h"
#include "libmge/passes/pass.h"

namespace mge::load_and_run {
namespace {

// Bytes at an address that suits a model, in memory of our own.
std::shared_ptr<std::byte[]> copy_of(std::span<const std::byte> bytes) {
    constexpr size_t alignment = 64;
    size_t size = (bytes.size() / alignment + 1) * alignment;
    auto* data = static_cast<std::byte*>(std::aligned_alloc(alignment, size));
    if (!data) throw MemoryError("there is not enough memory for the model's file");
    std::memcpy(data, bytes.data(), bytes.size());
    return {data, [](std::byte* p) { std::free(p); }};
}

void touch_pages(std::span<const std::byte> bytes) {
    constexpr size_t page = 4096;
    for (size_t i = 0; i < bytes.size(); i += page) (void)*static_cast<const volatile std::byte*>(&bytes[i]);
}

// Options that the session handles itself do not apply to the programs that are compared and timed.
CompileOptions without_own_matters(CompileOptions options) {
    options.var_sanity_check_first_run = options.force_output_use_user_specified_memory = false;
    return options;
}

}  // namespace

Session::Session(const Options& options) : options_(options) {
    open_cache();
    requested_ = make_compile_options(options, cache_.get());
    load();
    if (options.run.lite) lite_ = std::make_unique<LiteSession>(options, requested_);
    take_stored_options();
    compile_options_ = without_own_matters(requested_);
    if (options.graph.optimize_for_inference) optimize();
    prints_ = remember_constants(model_.graph);
}

void Session::load() {
    auto& o = options_.run;
    auto start = Clock::now();
    if (o.share_param_mem) {
        auto file = MappedFile::open(o.model.path);
        auto bytes = file->bytes();
        auto copy = copy_of(bytes);
        read_ms = milliseconds_since(start);
        model_ = open_model(ModelBytes{{copy.get(), bytes.size()}, copy, o.model.path},
                            open_options(o.model.keys));
    } else {
        if (o.startup) {
            auto file = MappedFile::open(o.model.path);
            touch_pages(file->bytes());
            read_ms = milliseconds_since(start);
        }
        model_ = o.model.read();
    }
    if (model_.is_public) requested_.select.weight_cache = PackedWeightCache::of_user(o.model.path);
    load_ms = milliseconds_since(start);
}

void Session::open_cache() {
    auto& o = options_.algorithms;
    if (o.cache.empty() && !o.measures() && !options_.checks.require_cache) return;
    auto& key = o.cache_key.are_given() ? o.cache_key : options_.run.model.keys.key;
    auto path = o.cache.empty() ? FastrunCache::default_path() : o.cache;
    if (!path) {
        constexpr auto what =
            "there is no folder for a fast-run cache that only this user can write; set HOME or "
            "XDG_CACHE_HOME, or name a cache with --fast-run-algo-policy";
        if (!o.measures()) throw UserError(what);
        return log_warning(text(what, "; new measurements are not saved"));
    }
    auto use = o.measures() ? cli::CacheUse::tolerant : cli::CacheUse::look_up;
    auto name = o.cache.empty() ? CacheName::by_default : CacheName::by_user;
    cache_ = cli::open_cache(*path, key, use, o.cache_key.are_given(), name);
}

// The passes ahead of time, all but the choice of layouts, which depends on shapes.
void Session::optimize() {
    auto& o = compile_options_;
    PassOptions options = pass_options(o);
    options.passes["choose_layout"] = false;
    // Tests come in other shapes than the model was written with.
    options.fixed_shapes = o.const_shape;
    check(o);
    optimized.nodes_before = model_.graph.nodes().size();
    auto weights = constant_pieces(model_.graph, true);
    auto start = Clock::now();
    model_.graph = run_passes(std::move(model_.graph), options);
    optimized.milliseconds = milliseconds_since(start);
    if (o.const_shape) store_const_shape(model_);
    optimized.nodes_after = model_.graph.nodes().size();
    // It is done already, so the compilation of the graph does not repeat it.
    if (o.switches.join_means == true) o.switches.join_means.reset();
    // Pages that are still needed are read again on access.
    for (auto piece : weights) release_pages(piece);
}

void Session::use(const CompileOptions& options) {
    compile_options_ = options;
    bool checks = requested_.var_sanity_check_first_run, binds = binds_outputs();
    requested_ = options;
    requested_.var_sanity_check_first_run = checks;
    requested_.force_output_use_user_specified_memory = binds;
    stored_.reset();
    program_ = nullptr;
}

void Session::use(const CompileOptions& options, std::shared_ptr<const Program> program) {
    use(options);
    program_ = std::move(program);
    if (checks_) checks_->compiled(model_.graph, specs_of(program_->inputs()), options, *program_);
}

void Session::require_known_shapes(const TensorSpecs& inputs) const {
    auto& graph = model_.graph;
    bool is_recorded = compile_options_.comp_node_seq_record_level == 2;
    bool is_constant = compile_options_.const_shape || has_const_shape(model_);
    for (size_t i = 0; i < inputs.size(); ++i) {
        auto& own = graph.value(graph.inputs()[i]);
        if (is_constant && !(own.spec == inputs[i]))
            throw_value_error("--const-shape", "input '", own.name, "' is ", own.spec, ", a constant",
                              compile_options_.const_shape ? "" : " (the model keeps its shapes)",
                              ", but was given as ", inputs[i]);
        if (is_recorded && program_ && !(program_->inputs()[i].spec == inputs[i]))
            throw_value_error("--record-comp-seq2", "the shapes are fixed: input '", own.name,
                              "' was recorded as ", program_->inputs()[i].spec, " but is given as ",
                              inputs[i]);
    }
}

// They apply only if no flag sets a compile option.
void Session::take_stored_options() {
    stored_ = stored_options(model_);
    if (!stored_) return;
    CompileOptions plain;
    plain.keeps_weights = requested_.keeps_weights;
    bool is_plain = to_json(requested_) == to_json(plain) && !options_.run.fitting;
    stored_fate_ = is_plain ? "used" : "overridden";
    if (!is_plain) return stored_.reset();
    requested_ = with_stored(requested_, *stored_);
    check(requested_);
}

std::vector<std::string> Session::input_names() const {
    std::vector<std::string> names;
    for (ValueId id : model_.graph.inputs()) names.push_back(model_.graph.value(id).name);
    return names;
}

std::shared_ptr<const Program> Session::compile(const TensorSpecs& inputs) {
    // Unique names for steps and values, for reports and comparisons.
    Graph graph = name_values(model_.graph);
    bool is_stored = stored_ && compile_options_.algorithms.empty();
    CompileOptions options = is_stored ? with_stored(compile_options_, *stored_, inputs) : compile_options_;
    options = without_own_matters(options);
    options.force_output_use_user_specified_memory = binds_outputs();
    if (options.no_profiling_on_shape_change && program_) options = with_known_algorithms(options, *program_);
    if (checks_) checks_->before_compile(model_.graph, inputs, options);
    std::shared_ptr<const Program> program;
    cli::Progress progress("compiling", 0);
    options.progress = progress.observer();
    try {
        program = lite_ ? lite_->compile(inputs, input_names()) : Program::compile(graph, inputs, options);
    } catch (const MemoryError&) {
        throw;
    } catch (const DeviceError& e) {
        if (!is_stored || !options_.checks.replay_plan.empty()) throw;
        // The file comes from a machine that could do more.
        log_warning(
            text("load_and_run: this build lacks an algorithm that is stored in the model: ", e.what()));
        options.algorithms.clear();
        program = Program::compile(graph, inputs, options);
    }
    options.progress = nullptr;
    if (checks_) checks_->compiled(model_.graph, inputs, options, *program);
    return program;
}

// Compiling packs the weights, which takes seconds for a large net: a program is used again when it can be.
std::shared_ptr<const Program> Session::program_for(const TensorSpecs& inputs) {
    require_known_shapes(inputs);
    auto has_spec = [](const PortInfo& port, const TensorSpec& spec) { return port.spec == spec; };
    if (program_ && std::ranges::equal(program_->inputs(), inputs, has_spec)) return program_;
    program_ = compile(inputs);
    if (compile_options_.comp_node_seq_record_level == 2) {
        model_.graph.forget_nodes();
        prints_ = nullptr;
    }
    return program_;
}

std::unique_ptr<Context> Session::make_context(const Test& test) const {
    auto context = lite_ ? lite_->make_context() : Context::create(test.program);
    context->fill_inputs(test.inputs);
    if (!binds_outputs()) return context;
    std::lock_guard lock(outputs_mutex_);
    for (size_t i = 0; i < test.program->outputs().size(); ++i) {
        auto& port = test.program->outputs()[i];
        auto& memory = outputs_.emplace_back(empty_tensor(port.spec, port.device));
        context->bind_output(i, memory.address(), port.spec.bytes());
    }
    return context;
}

void Session::prepare(Test& test) {
    auto start = Clock::now();
    test.program = program_for(specs_of(test.inputs));
    test.compile_ms = milliseconds_since(start);
    if (checks_) checks_->memory.compiled();
    start = Clock::now();
    test.context = make_context(test);
    test.prepare_ms = milliseconds_since(start);
}

void Session::first_run(Test& test) {
    auto start = Clock::now();
    if (compile_options_.fake_next_exec) {
        test.context->run();
        test.context->wait();
        test.fake_run_ms = milliseconds_since(start);
        start = Clock::now();
    }
    test.context->run();
    test.context->wait();
    test.first_run_ms = milliseconds_since(start);
}

}  // namespace mge::load_and_run
