// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/checks/checks.h"

#include <algorithm>
#include <iostream>

#include "apps/cli/files/array_file.h"
#include "apps/cli/output/table.h"
#include "apps/load_and_run/checks/json.h"
#include "libmge/base/files/folder.h"
#include "libmge/base/unique_names.h"
#include "libmge/device/cpu/memory_limit.h"
#include "libmge/device/device.h"
#include "libmge/graph/origins.h"
#include "libmge/inspect/static_memory.h"

namespace mge::load_and_run {
namespace {

using cli::Json;

// Weights in a mapped file count as memory, too, although no allocator provided it. Which of them are used is
// known only after packing. `weights`: those that certainly stay in memory.
void limit_allocations(const Graph& graph, size_t weights, size_t limit) {
    // Memory that exists already (the tool's own inputs, converted weights) is not counted twice.
    if (weights < limit)
        return set_cpu_memory_limit(limit, ptrdiff_t(weights) - ptrdiff_t(device({}).memory().allocated));
    size_t largest = 0;
    ValueId heaviest = no_value;
    for (size_t i = 0; i < graph.values().size(); ++i) {
        auto& value = graph.value(ValueId(i));
        if (!value.is_constant() || value.spec.bytes() <= largest) continue;
        largest = value.spec.bytes();
        heaviest = ValueId(i);
    }
    std::string reader = "no operator";
    for (auto& node : graph.nodes())
        if (std::find(node.inputs.begin(), node.inputs.end(), heaviest) != node.inputs.end()) {
            reader = operator_text(graph, node);
            break;
        }
    throw MemoryError(text("the weights alone take ", weights, " bytes, but the limit is ", limit,
                           "; the largest belong to ", reader, ", ", largest, " bytes"));
}

}  // namespace

// Values by name; kept until the end of the run, because an archive is written in one piece.
class Checks::NpzDump final : public IoDumpSink {
public:
    explicit NpzDump(std::string path) : path_(std::move(path)) {}
    void write(const DumpedValue& value) override {
        arrays_.emplace_back(names_.unique(value.self.name), copy_plain(value.value));
    }
    void finish() { cli::write_npz(path_, arrays_); }

private:
    std::string path_;
    UniqueNames names_;
    std::vector<std::pair<std::string, Tensor>> arrays_;
};

// Which step a run was at when it ended early.
class Checks::LastStep final : public StepObserver {
public:
    explicit LastStep(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
    void before_step(size_t step, Context&) override { step_ = step; }
    void after_step(size_t, Context&) override { step_.reset(); }
    std::string describe() const {
        if (!step_) return {};
        auto& step = program_->steps()[*step_];
        return text("step ", *step_, " (", operator_text(step), "): ");
    }

private:
    std::shared_ptr<const Program> program_;
    std::optional<size_t> step_;
};

Checks::Checks(const CheckOptions& options, int threads, DeviceId place, bool is_reported)
    : memory(place, is_reported), options_(options), threads_(threads), place_(place) {
    if (!options.replay_plan.empty()) replayed_.emplace(options.replay_plan);
    if (!options.bin_io_dump.empty()) make_folder(options.bin_io_dump, "--bin-io-dump");
    if (!options.bin_out_dump.empty()) make_folder(options.bin_out_dump, "--bin-out-dump");
}

Checks::~Checks() {
    if (!options_.mem_limit.empty()) device(place_).set_memory_limit(0);
}

void Checks::before_compile(const Graph& graph, const TensorSpecs& inputs, CompileOptions& options) {
    if (replayed_) replayed_->apply(graph, inputs, threads_, options);
    auto limit = options_.memory_limit();
    if (!limit) return;
    // Weights are allocated there like all other values.
    if (&device(place_) != &device(host_device)) return device(place_).set_memory_limit(*limit);
    bool packs = options.switches.pack_weights.value_or(true);
    size_t weights = held_weights(graph);
    if (!packs)
        for (auto piece : constant_pieces(graph, true)) weights += piece.size();
    limit_allocations(graph, weights, *limit);
}

void Checks::compiled(const Graph& graph, const TensorSpecs& inputs, const CompileOptions& options,
                      const Program& program) {
    if (replayed_) replayed_->verify(inputs, program);
    if (options_.require_cache) require_cached(program);
    if (auto limit = options_.memory_limit()) {
        check_memory_limit(program, *limit, &graph);
        MemoryReport m = program.memory();
        size_t unpacked = options.switches.pack_weights.value_or(true) ? m.weights_in_file : 0;
        // The program's own memory does not come from our allocators.
        charge_to_cpu_memory_limit(ptrdiff_t(unpacked + m.program + graph_bytes(graph)));
    }
    if (!options_.save_plan.empty()) saved_.add(graph, options, program);
}

void Checks::open_dumps(const std::shared_ptr<const Program>& program) {
    if (!options_.io_dump.empty() && options_.io_dump.ends_with(".npz")) {
        auto npz = std::make_unique<NpzDump>(options_.io_dump);
        npz_ = npz.get();
        sinks_.push_back(std::move(npz));
    } else if (!options_.io_dump.empty()) {
        text_file_ = std::make_unique<std::ofstream>(options_.io_dump);
        if (!*text_file_) throw_value_error("--io-dump", "cannot create '", options_.io_dump, "'");
        sinks_.push_back(text_dump(*text_file_));
    }
    if (options_.io_dump_stdout) {
        cli::require_stdout();
        sinks_.push_back(text_dump(cli::requested_text()));
    }
    if (options_.io_dump_stderr) sinks_.push_back(text_dump(std::cerr));
    if (!options_.bin_io_dump.empty()) sinks_.push_back(binary_dump(options_.bin_io_dump));
    for (auto& sink : sinks_) {
        dumps_.push_back(std::make_unique<IoDumpRun>(program, *sink));
        observers_.add(*dumps_.back());
    }
}

template <class Observer, class... Args>
void Checks::add_guard(Args&&... args) {
    auto guard = std::make_unique<Observer>(std::forward<Args>(args)...);
    observers_.add(*guard);
    lasting_.add(*guard);
    guards_.push_back(std::move(guard));
}

void Checks::watch(const std::shared_ptr<const Program>& program, Context& context, bool is_first) {
    if (output_dump_) dumped_runs_ = output_dump_->next_run();
    observers_.clear();
    lasting_.clear();
    guards_.clear();
    if (options_.memory_limit()) {
        add_guard<LastStep>(program);
        last_step_ = static_cast<LastStep*>(guards_.back().get());
    }
    // Before the others: it fills memory that they look at.
    if (options_.check_dispatch) add_guard<WriteGuard>(program);
    if (is_first) open_dumps(program);
    if (options_.check_finite) add_guard<ValueGuard>(program, std::nullopt);
    if (options_.range > 0) add_guard<ValueGuard>(program, options_.range);
    if (!options_.check_var_value.empty()) {
        auto [interval, start] = parse_repetition(options_.check_var_value);
        add_guard<RepeatGuard>(program, interval, start);
    }
    if (!options_.bin_out_dump.empty()) {
        add_guard<OutputDump>(program, options_.bin_out_dump, dumped_runs_);
        output_dump_ = static_cast<OutputDump*>(guards_.back().get());
    }
    if (!observers_.is_empty()) context.observe(&observers_);
}

void Checks::end_dumps(Context& context) {
    if (npz_) npz_->finish();
    npz_ = nullptr;
    if (text_file_ && !text_file_->flush())
        throw UserError(text("[--io-dump] cannot write '", options_.io_dump, "'"));
    text_file_.reset();
    watch_on(context);
    dumps_.clear();
    sinks_.clear();
}

void Checks::watch_on(Context& context) { context.observe(lasting_observer()); }

std::string Checks::place() const { return last_step_ ? last_step_->describe() : std::string(); }

void Checks::note_failure(std::string message) {
    if (failure_.empty()) failure_ = std::move(message);
}

void Checks::finish(const Subject& subject, const std::shared_ptr<const Program>& program, Context& context,
                    const cli::Invocation& invocation) {
    context.observe(nullptr);
    auto load = [&](Context& fresh) { fresh.fill_inputs(subject.inputs); };
    if (options_.reproducible) {
        reproducibility_ = check_reproducible(program, load);
        if (reproducibility_->difference)
            note_failure("[--reproducible] " + explain(*reproducibility_->difference));
    }
    if (!options_.compare.empty() || !options_.compare_with.empty()) {
        compared_ = compare_run(options_, subject, program, context);
        note_failure(load_and_run::failure(*compared_));
    }
    if (!options_.memory_timeline.empty()) write_memory_timeline(options_.memory_timeline, *program);
    if (auto& folder = options_.static_memory_info; !folder.empty()) {
        make_folder(folder, "--get-static-mem-info");
        write_static_memory_info(folder, *program);
    }
    if (!options_.save_plan.empty()) saved_.write(options_.save_plan, invocation);
}

void Checks::walk(const Subject& subject) {
    walked_ = walk_to_first_difference(options_, subject);
    note_failure(load_and_run::failure(*walked_));
    if (!options_.reproducer.empty())
        reproducer_ = write_reproducer(options_.reproducer, options_, subject, *walked_);
}

void Checks::print() const {
    if (compared_) load_and_run::print(*compared_);
    if (walked_) load_and_run::print(*walked_);
    if (reproducer_) load_and_run::print(*reproducer_);
    if (reproducibility_ && !reproducibility_->difference)
        std::cout << "\nreproducible: " << cli::counted(reproducibility_->values, "value") << " of "
                  << cli::counted(reproducibility_->steps, "step") << " agree in " << reproducibility_->runs
                  << " fresh contexts\n";
}

void Checks::add_to(Json& result) const {
    result["tolerance"] = to_json(options_.tolerance());
    if (compared_) result["compare"] = to_json(*compared_);
    if (walked_) result["first_diff"] = to_json(*walked_);
    if (reproducer_) result["reproducer"] = to_json(*reproducer_);
    if (reproducibility_) result["reproducible"] = to_json(*reproducibility_);
    Json guards = Json::array();
    if (options_.check_dispatch) guards.push_back("check-dispatch");
    if (options_.check_finite) guards.push_back("check-finite");
    if (options_.range > 0) guards.push_back("range");
    if (!options_.check_var_value.empty()) guards.push_back("check-var-value");
    if (!guards.empty()) result["guards"] = guards;
    Json dumps = Json::object();
    auto note = [&](const char* key, const std::string& path) {
        if (!path.empty()) dumps[key] = path;
    };
    note("io_dump", options_.io_dump);
    note("bin_io_dump", options_.bin_io_dump);
    note("bin_out_dump", options_.bin_out_dump);
    if (options_.io_dump_stdout) dumps["io_dump_stdout"] = true;
    if (options_.io_dump_stderr) dumps["io_dump_stderr"] = true;
    if (!dumps.empty()) result["dumps"] = dumps;
    if (!options_.save_plan.empty()) result["saved_plan"] = options_.save_plan;
    if (!options_.replay_plan.empty()) result["replayed_plan"] = options_.replay_plan;
    if (options_.require_cache) result["cache_misses"] = 0;
    if (auto limit = options_.memory_limit())
        result["memory_limit"] = {{"limit", *limit}, {"allocated_peak", device(place_).memory().peak}};
    if (!options_.memory_timeline.empty()) result["memory_timeline"] = options_.memory_timeline;
    if (!options_.static_memory_info.empty()) result["static_memory_info"] = options_.static_memory_info;
}

}  // namespace mge::load_and_run
