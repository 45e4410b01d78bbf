// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/program.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <set>

#include "libmge/base/file.h"
#include "libmge/base/log.h"
#include "libmge/compile/compiled_program.h"
#include "libmge/compile/ignored_options.h"
#include "libmge/compile/own_outputs.h"
#include "libmge/compile/plan_memory.h"
#include "libmge/compile/recompute.h"
#include "libmge/compile/release_constants.h"
#include "libmge/compile/replacement_check.h"
#include "libmge/compile/surrounding.h"
#include "libmge/compile/swap.h"
#include "libmge/compile/upload.h"
#include "libmge/compile/write_last.h"
#include "libmge/device/device.h"
#include "libmge/graph/dependencies.h"
#include "libmge/graph/inner_graph.h"
#include "libmge/graph/node_problem.h"
#include "libmge/graph/place.h"
#include "libmge/kernel/fastrun_cache.h"
#include "libmge/kernel/lookups.h"
#include "libmge/kernel/packed_copies.h"
#include "libmge/op/nothing_to_do.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

bool is_idle(const Graph& graph, const Node& node) {
    TensorSpecs outputs;
    for (ValueId id : node.outputs) outputs.push_back(graph.value(id).spec);
    return has_nothing_to_do(*node.op, outputs);
}

PortInfo port_of(const Graph& graph, ValueId id, std::string_view kind, size_t index) {
    auto& value = graph.value(id);
    return {value.name.empty() ? text(kind, '_', index) : value.name, value.spec, no_value, value.device};
}

}  // namespace

TensorSpecs specs_of(std::span<const PortInfo> ports) {
    TensorSpecs specs;
    for (auto& port : ports) specs.push_back(port.spec);
    return specs;
}

PassOptions pass_options(const CompileOptions& options) {
    PassOptions result{.passes = options.passes,
                       .level = std::abs(options.level),
                       .own_passes = options.own_passes,
                       .graph_opt = options.graph_opt,
                       .verify = options.verify_passes,
                       .layout = wanted_layout(options),
                       .select = options.select,
                       .threads = options.threads,
                       .precision = options.precision,
                       .weight_bits = options.weight_bits,
                       .log_level = options.log_level,
                       .progress = options.progress};
    if (options.measure_layouts) {
        result.select.profile = true;
        result.select.heuristic = false;
    }
    return result;
}

namespace {

// A step with its report, its operands' descriptions and what it shares with no other, over the programs of
// seven nets.
constexpr size_t bytes_of_step = 8 << 10;

// Bringing the pages of others back costs more than their memory is worth.
constexpr size_t large_constant = size_t(16) << 20;

// What lies in mapped files, of at least so many bytes each.
void release_mapped(const std::map<const void*, size_t>& constants, size_t smallest) {
    for (auto [address, bytes] : constants)
        if (bytes >= smallest) release_pages({static_cast<const std::byte*>(address), bytes});
}

// What a run reads and writes: each value and constant once, in each graph once. Large where a shape is found
// out by the run.
int64_t touched_bytes(const Graph& graph, const std::map<const void*, size_t>& constants) {
    int64_t bytes = 0;
    for (auto [address, size] : constants) bytes += int64_t(size);
    for (auto& [path, part] : with_inner_graphs(graph))
        for (auto& value : part->values()) {
            constexpr auto large = std::numeric_limits<int64_t>::max();
            if (!value.spec.shape.is_known() || value.spec.bytes() > size_t(large - bytes)) return large;
            if (!value.is_constant()) bytes += int64_t(value.spec.bytes());
        }
    return bytes;
}

// Nothing shares memory: everything is alive all the time.
void keep_all_alive(std::vector<MemoryBlock>& blocks, size_t steps) {
    for (auto& block : blocks) {
        block.first = 0;
        block.last = int(steps);
    }
}

}  // namespace

std::shared_ptr<const Program> Program::compile(const Graph& graph, const CompileOptions& options) {
    check(options);
    TensorSpecs specs;
    for (ValueId id : graph.inputs()) {
        auto& value = graph.value(id);
        if (!value.spec.shape.is_known())
            throw_user("compile", text("the shape of input '", value.name, "' is not known"),
                       ErrorClass::value);
        specs.push_back(value.spec);
    }
    Graph placed = order_after(place(graph, options.device), options.extra_vardeps);
    return std::make_shared<CompiledProgram>(infer_shapes(std::move(placed), specs), options);
}

CompiledProgram::~CompiledProgram() = default;

const std::vector<ReplacedValue>& CompiledProgram::replaced() const {
    static const std::vector<ReplacedValue> none;
    return check_ ? check_->replaced() : none;
}

CompiledProgram::CompiledProgram(Graph graph, const CompileOptions& options)
    : id_(next_graph_id()), options_(options) {
    ConstantBytes given;
    for (auto& [path, part] : with_inner_graphs(graph))
        for (auto& value : part->values())
            if (value.is_constant()) given.emplace(value.constant.address(), value.spec.bytes());
    require_whole_files(given);
    name_ports(graph);
    options_.layout = wanted_layout(options_);
    options_.graph_opt.layout_transform = LayoutTransform::unset;
    // Two programs that both measure may choose differently: for equal results they need one cache.
    if (options_.select.same_between_batches && !options_.select.cache) options_.select.profile = false;
    // Equal problems are measured once, also when the caller keeps no cache.
    std::unique_ptr<FastrunCache> own_cache;
    if ((options_.select.profile || options_.measure_layouts) && !options_.select.cache) {
        own_cache = FastrunCache::in_memory();
        options_.select.cache = own_cache.get();
    }
    Lookups lookups;
    options_.select.lookups = &lookups;
    run_bytes_ = std::max(touched_bytes(graph, given), surrounding().bytes);
    // Programs of other batches touch more or less, and have to find the same times.
    if (!options_.select.same_between_batches) lookups.set_program_bytes(run_bytes_);
    // Algorithms are measured layer by layer, each on weights that come back for it; so are large weights
    // packed.
    if (options_.select.profile) release_mapped(given, large_constant);
    lookups.before_measuring([&given] { release_mapped(given, 0); });
    auto endpoints = find_endpoints(graph, options_.opr_attribute.sublinear_memory_endpoint);
    optimise(std::move(graph));
    order_updates();
    if (options_.enable_sublinear_memory_opt || options_.enable_dtr_memory_opt) give_up_values(endpoints);
    if (options_.enable_memory_swap) swap_out();
    if (options_.force_output_use_user_specified_memory) graph_ = give_outputs_own_memory(std::move(graph_));
    for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i].value = graph_.inputs()[i];
    for (size_t i = 0; i < outputs_.size(); ++i) outputs_[i].value = graph_.outputs()[i];
    is_callback_output_ = callback_outputs();
    copies_beside_ = options_.seq_opt.enable_seq_comp_node_opt && !options_.force_dynamic_alloc &&
                     has_copies_beside(graph_);
    schedule_ = schedule(graph_, shared_memory(options_), is_callback_output_);
    find_places();
    check_recording();
    check_outputs();
    upload_constants(given);
    std::vector<std::shared_ptr<const CompiledProgram>> inside;
    auto choices = bind(given, inside);
    count_inside(inside);
    count_constants(given);
    place_buffers(choices);
    find_taken_inputs();
    make_steps(std::move(choices));
    if (copies_beside_) copies_ = plan_lanes(*this);
    assign_threads();
    count_pieces();
    make_step_reports();
    make_value_reports();
    require_whole_files(given);
    for (auto& option : find_ignored_options(options_, graph_, reports_, memory_.packed_weights))
        ignore(option.option, option.given, option.reason);
    forget_caller();
    checks_first_run_ = options_.var_sanity_check_first_run;
    if (options_.allocate_static_mem_after_graph_compile)
        for (size_t i = 0; i < places_.size(); ++i)
            arenas_.push_back(queue_of(places_[i]).allocate(arena_bytes_[i]));
    if (options_.comp_node_seq_record_level == 2) graph_.forget_nodes();
}

void CompiledProgram::name_ports(const Graph& graph) {
    for (size_t i = 0; i < graph.inputs().size(); ++i)
        inputs_.push_back(port_of(graph, graph.inputs()[i], "input", i));
    for (size_t i = 0; i < graph.outputs().size(); ++i)
        outputs_.push_back(port_of(graph, graph.outputs()[i], "output", i));
}

void CompiledProgram::optimise(Graph graph) {
    if (options_.level < 0) {
        std::vector<PassStage> stages;
        graph_ = run_passes(graph, pass_options(options_), &stages);
        check_ = std::make_unique<ReplacementCheck>(std::move(graph), std::move(stages), options_);
    } else {
        graph_ = run_passes(std::move(graph), pass_options(options_));
    }
    check_layout();
    options_.own_passes.clear();
    std::set<const void*> constants;
    for (auto& value : graph_.values())
        if (value.is_constant() && constants.insert(value.constant.address()).second)
            memory_.constants += value.spec.bytes();
}

// Cache and observer belong to whoever compiles; none of them outlives the compilation.
void CompiledProgram::forget_caller() {
    options_.progress = nullptr;
    options_.select.cache = nullptr;
    options_.select.lookups = nullptr;
    options_.select.profile = false;
    options_.uploads = nullptr;
}

void CompiledProgram::order_updates() {
    if (!options_.no_force_inplace) {
        write_last(graph_, options_);
    } else if (Graph other = graph_; write_last(other, {.seq_opt = options_.seq_opt, .log_level = 0}) == 0) {
        ignore("no_force_inplace", "true", "no operator of this model would wait to write over an operand");
    }
}

// After the passes, which would merge what is computed twice.
void CompiledProgram::give_up_values(const std::vector<NodeId>& endpoints) {
    auto result = recompute(std::move(graph_), options_, endpoints);
    graph_ = std::move(result.graph);
    if (options_.verify_passes) verify(graph_);
    repeated_ = std::move(result.repeated);
    memory_.repeated_segments = result.segments;
    if (result.segments) return;
    bool is_sublinear = options_.enable_sublinear_memory_opt;
    ignore(is_sublinear ? "enable_sublinear_memory_opt" : "enable_dtr_memory_opt", "true",
           "computing values again would not lower the peak of the memory plan");
}

void CompiledProgram::swap_out() {
    auto swapped = swap_values(std::move(graph_), options_);
    graph_ = std::move(swapped.graph);
    memory_.swapped_values = swapped.values;
    if (options_.verify_passes) verify(graph_);
    if (swapped.values) return;
    bool is_on_host = std::ranges::all_of(graph_.nodes(),
                                          [&](auto& node) { return running_place(graph_, node).is_host(); });
    ignore("enable_memory_swap", "true",
           is_on_host ? "the values of a CPU lie in host memory already"
                      : "no large value waits while its device is fullest");
}

std::vector<StorageRef> CompiledProgram::take_arenas() const {
    std::lock_guard lock(arena_mutex_);
    return std::exchange(arenas_, {});
}

bool CompiledProgram::is_on_host() const {
    return std::ranges::all_of(places_, [](DeviceId place) { return place.is_host(); });
}

// Nothing but operands ties places together, each of which has an arena of its own, and the order of effects.
StepThreads CompiledProgram::threads_of(const Step& step, std::span<const int> thread_of_place) const {
    StepThreads threads{thread_of_place[index_of(step.device)], {}};
    auto invite = [&](int thread) {
        if (thread != threads.owner && std::ranges::find(threads.guests, thread) == threads.guests.end())
            threads.guests.push_back(thread);
    };
    auto& node = graph_.node(step.node);
    if (node.op->traits.effect) std::ranges::for_each(thread_of_place, invite);
    for (auto* ids : {&node.inputs, &node.outputs})
        for (ValueId id : *ids) {
            if (id == no_value || graph_.value(id).is_constant()) continue;
            size_t place = index_of(graph_.value(id).device);
            if (place < places_.size()) invite(thread_of_place[place]);
        }
    return threads;
}

void CompiledProgram::assign_threads() {
    auto thread_of_place = threads_of_places(places_, options_.async_exec_level);
    if (options_.async_exec_level > 1 && thread_of_place[0] == 0)
        ignore("async_exec_level", text(options_.async_exec_level), "the program runs at one place");
    if (!options_.comp_seq_sync_device && is_on_host())
        ignore("comp_seq_sync_device", "false", "the work of a CPU is done when it has been asked for");
    if (thread_of_place[0] == 0) return;
    for (auto& step : schedule_.steps) threads_.push_back(threads_of(step, thread_of_place));
}

// In the order in which its steps come to them; one at least.
void CompiledProgram::find_places() {
    auto add = [&](DeviceId place) {
        if (std::ranges::find(places_, place) == places_.end()) places_.push_back(place);
    };
    for (ValueId id : graph_.inputs()) add(graph_.value(id).device);
    for (auto& step : schedule_.steps) {
        add(step.device);
        add(graph_.place(graph_.node(step.node)));
    }
    for (ValueId id : graph_.outputs()) add(graph_.value(id).device);
    if (places_.empty()) add(options_.device);
}

size_t CompiledProgram::index_of(DeviceId place) const {
    return size_t(std::ranges::find(places_, place) - places_.begin());
}

void CompiledProgram::upload_constants(ConstantBytes& given) {
    if (is_on_host()) return;
    auto uploads = options_.uploads ? options_.uploads : std::make_shared<ConstantUploads>();
    for (size_t i = 0; i < graph_.values().size(); ++i) {
        auto& value = graph_.value(ValueId(i));
        if (!value.is_constant() || value.device.is_host()) continue;
        Tensor uploaded = uploads->find(value.constant, value.device);
        if (given.contains(value.constant.address())) given.emplace(uploaded.address(), value.spec.bytes());
        value.constant = std::move(uploaded);
    }
}

std::vector<Choice> CompiledProgram::bind(const ConstantBytes& given,
                                          std::vector<std::shared_ptr<const CompiledProgram>>& inside) {
    is_released_.resize(graph_.values().size());
    std::vector<std::weak_ptr<const CompiledProgram>> prepared;
    SurroundingScope scope({.options = &options_, .bytes = run_bytes_, .inside = &prepared});
    std::vector<Choice> choices;
    if (options_.keeps_weights || check_) {
        choices = bind_algorithms(graph_, schedule_, options_, [](size_t, const Prepared&) {});
        verify_read(given, {});
    } else {
        ConstantRelease release(graph_, schedule_);
        choices =
            bind_algorithms(graph_, schedule_, options_, [&](size_t i, auto& p) { release.bound(i, p); });
        verify_read(given, release.unread());
        is_released_ = std::move(release).released();
    }
    for (auto& program : prepared)
        if (auto kept = program.lock()) inside.push_back(std::move(kept));
    return choices;
}

void CompiledProgram::require_whole_constants() const {
    for (auto* constants : {&kept_, &packed_})
        for (auto [address, bytes] : *constants)
            if (auto* file = MappedFile::of(address); file && file->is_cut()) file->require_whole();
}

// Passes may have used any that is no operand of a step.
void CompiledProgram::verify_read(const ConstantBytes& given, const std::set<const void*>& unread) const {
    std::vector<std::span<const std::byte>> read;
    for (auto [address, bytes] : given)
        if (!unread.contains(address)) read.push_back({static_cast<const std::byte*>(address), bytes});
    verify_constants(read, options_.threads);
}

void CompiledProgram::count_inside(const std::vector<std::shared_ptr<const CompiledProgram>>& inside) {
    for (auto& program : inside) {
        kept_.insert(program->kept_.begin(), program->kept_.end());
        packed_.insert(program->packed_.begin(), program->packed_.end());
        code_.insert(program->code_.begin(), program->code_.end());
        step_count_ += program->step_count_;
    }
}

void CompiledProgram::count_constants(const ConstantBytes& given) {
    for (size_t id = 0; id < graph_.values().size(); ++id)
        if (auto& value = graph_.value(ValueId(id)); value.is_constant() && !is_released_[id])
            kept_.emplace(value.constant.address(), value.spec.bytes());
    std::set<const void*> kept;
    for (auto [address, bytes] : kept_) {
        kept.insert(address);
        bool is_given = given.contains(address);
        (is_given ? memory_.weights : memory_.made_weights) += bytes;
        if (is_given && is_mapped(address)) memory_.weights_in_file += bytes;
        if (!is_given) made_constants_.push_back({static_cast<const std::byte*>(address), bytes});
    }
    std::vector<std::span<const std::byte>> unread;
    for (auto [address, bytes] : given) {
        if (kept_.contains(address)) continue;
        memory_.released_weights += bytes;
        if (is_mapped(address)) unread.push_back({static_cast<const std::byte*>(address), bytes});
    }
    release_mapped(std::move(unread), kept);
}

void CompiledProgram::check_recording() {
    if (!options_.comp_node_seq_record_level) return;
    if (options_.force_dynamic_alloc)
        return ignore("comp_node_seq_record_level", "1", "force_dynamic_alloc moves values about");
    auto it = std::ranges::find_if(schedule_.steps, &Step::is_dynamic);
    if (it == schedule_.steps.end()) return;
    std::string what = text("'", graph_.node(it->node).op->name, "' finds out its shape at run time");
    if (options_.comp_node_seq_record_level == 2)
        throw_user("comp_node_seq_record_level", text("2 needs fixed shapes, but ", what), ErrorClass::value);
    ignore("comp_node_seq_record_level", "1", what);
}

std::vector<bool> CompiledProgram::callback_outputs() const {
    std::vector<bool> result(outputs_.size());
    for (size_t i : options_.callback_outputs) {
        if (i >= outputs_.size())
            throw_user("callback_outputs",
                       text("there is no output ", i, "; the graph has ", outputs_.size()),
                       ErrorClass::index);
        if (options_.force_output_use_user_specified_memory)
            throw_user("callback_outputs",
                       text("output ", i, " would lie in the program's own memory, but ",
                            "force_output_use_user_specified_memory wants it in the caller's"),
                       ErrorClass::value);
        result[i] = true;
    }
    return result;
}

void CompiledProgram::check_outputs() const {
    if (!options_.force_output_use_user_specified_memory) return;
    for (size_t i = 0; i < graph_.outputs().size(); ++i)
        if (schedule_.is_dynamic[size_t(graph_.outputs()[i])])
            throw_user("force_output_use_user_specified_memory",
                       text("the shape of output ", i,
                            " is found out at run time, so nobody can give memory ", "for it"),
                       ErrorClass::value);
}

// After the passes: whether some value lies in it.
void CompiledProgram::check_layout() {
    if (options_.layout == "auto") return;
    auto layout = Layout::named(options_.layout);
    auto has_it = [&](auto& value) { return value.spec.layout == layout; };
    if (layout.is_plain() || std::ranges::any_of(graph_.values(), has_it)) return;
    ignore("layout", options_.layout, "no kernel of this device works on this model in that layout");
}

void CompiledProgram::ignore(std::string option, std::string given, std::string reason) {
    // Of the graphs that steps hold the program around them tells it.
    bool is_inside = surrounding().options;
    if (options_.log_level > 0 && !is_inside)
        log_warning(text(option, ' ', given, " has no effect: ", reason));
    ignored_.push_back({std::move(option), std::move(given), std::move(reason)});
}

Location CompiledProgram::place(const Buffer& buffer, const Location& in_plan) {
    switch (buffer.kind) {
        case Buffer::Kind::arena:
            return in_plan;
        case Buffer::Kind::input:
            input_memory_[size_t(buffer.port)] = {buffer.bytes, index_of(buffer.device)};
            return {Location::Kind::input, size_t(buffer.port)};
        case Buffer::Kind::output:
            output_memory_.push_back({buffer.bytes, index_of(buffer.device)});
            output_steps_.push_back(buffer.first);
            return {Location::Kind::output, output_memory_.size() - 1};
        case Buffer::Kind::constant:
            break;
    }
    // Null when it was let go: the steps read packed copies.
    auto& constant = graph_.value(buffer.constant).constant;
    return {Location::Kind::constant, 0, constant ? constant.address() : nullptr};
}

namespace {

size_t total_bytes(std::span<const MemoryPlan> plans) {
    size_t bytes = 0;
    for (auto& plan : plans) bytes += plan.bytes;
    return bytes;
}

}  // namespace

// With as much room for the copies as costs nothing, or next to nothing where nobody is short of memory.
std::vector<MemoryPlan> CompiledProgram::plan_lives(const ArenaBlocks& blocks) const {
    auto plans = plan_places(blocks.blocks, places_.size());
    if (!copies_beside_) return plans;
    std::vector<int> block_of;
    for (int buffer : schedule_.buffer_of)
        block_of.push_back(buffer < 0 ? -1 : blocks.buffer_block[size_t(buffer)]);
    bool is_short =
        options_.enable_memory_swap || options_.enable_sublinear_memory_opt || options_.enable_dtr_memory_opt;
    size_t least = total_bytes(plans), spare = is_short ? 0 : least / 16;
    for (int steps : {int(schedule_.steps.size()), 16, 4, 1}) {
        auto roomy = plan_places(
            with_room_for_copies(blocks.blocks, graph_, schedule_, block_of, {steps, spare}), places_.size());
        if (total_bytes(roomy) <= least + spare) return roomy;
    }
    return plans;
}

// By block, where it lies in the arena of its place.
std::vector<Location> CompiledProgram::plan_arenas(const ArenaBlocks& blocks) {
    auto plans = plan_lives(blocks);
    for (size_t i = 0; i < plans.size(); ++i) {
        arena_bytes_[i] = plans[i].bytes;
        memory_.plan += plans[i].bytes;
        memory_.plan_lower_bound += plans[i].lower_bound;
    }
    std::vector<size_t> next(plans.size());
    std::vector<Location> locations;
    for (auto& block : blocks.blocks)
        locations.push_back(
            {Location::Kind::arena, plans[block.place].offsets[next[block.place]++], nullptr, block.place});
    return locations;
}

void CompiledProgram::place_buffers(const std::vector<Choice>& choices) {
    std::vector<size_t> workspaces;
    for (auto& choice : choices) workspaces.push_back(choice.algorithm ? choice.prepared.workspace() : 0);
    auto blocks = arena_blocks(schedule_, workspaces);
    for (size_t i = 0; i < schedule_.buffers.size(); ++i)
        if (int block = blocks.buffer_block[i]; block >= 0)
            blocks.blocks[size_t(block)].place = index_of(schedule_.buffers[i].device);
    for (size_t i = 0; i < schedule_.steps.size(); ++i)
        if (int block = blocks.workspace_block[i]; block >= 0)
            blocks.blocks[size_t(block)].place = index_of(schedule_.steps[i].device);
    arena_bytes_.resize(places_.size());
    std::vector<Location> locations;  // by block
    if (options_.force_dynamic_alloc) {
        blocks_ = blocks.blocks;
        for (size_t i = 0; i < blocks_.size(); ++i) locations.push_back({Location::Kind::block, i});
    } else {
        if (!options_.seq_opt.enable_mem_reuse_alloc) keep_all_alive(blocks.blocks, schedule_.steps.size());
        locations = plan_arenas(blocks);
    }
    auto location_of = [&](int block) { return block < 0 ? Location{} : locations[size_t(block)]; };
    input_memory_.resize(graph_.inputs().size());
    for (size_t i = 0; i < schedule_.buffers.size(); ++i)
        buffer_locations_.push_back(place(schedule_.buffers[i], location_of(blocks.buffer_block[i])));
    for (int block : blocks.workspace_block) workspace_locations_.push_back(location_of(block));
    for (auto* ports : {&input_memory_, &output_memory_})
        for (auto& port : *ports) memory_.inputs_outputs += port.bytes;
    if (options_.log_level > 0 && log_enabled(LogChannel::memory))
        log_line(LogChannel::memory, text("plan ", memory_.plan, " bytes for ", blocks.blocks.size(),
                                          " blocks, lower bound ", memory_.plan_lower_bound));
}

// Where steps run in their order, on the host or on one queue, and nobody reads inputs behind them.
void CompiledProgram::find_taken_inputs() {
    if (places_.size() != 1 || copies_beside_ || check_ || options_.force_dynamic_alloc) return;
    for (auto& [output, port] : schedule_.takeovers)
        taken_inputs_.push_back({locate(output).at, size_t(port)});
}

Location CompiledProgram::locate(ValueId id) const {
    if (id == no_value) return {};
    if (schedule_.is_dynamic[size_t(id)]) return {Location::Kind::dynamic, size_t(id)};
    int buffer = schedule_.buffer_of[size_t(id)];
    MGE_CHECK(buffer >= 0, "value ", id, " has no place");
    Location location = buffer_locations_[size_t(buffer)];
    location.offset = schedule_.offset_of[size_t(id)];
    return location;
}

void CompiledProgram::make_steps(std::vector<Choice> choices) {
    for (size_t i = 0; i < schedule_.steps.size(); ++i) {
        auto& node = graph_.node(schedule_.steps[i].node);
        CompiledStep step{schedule_.steps[i].node,
                          schedule_.steps[i].is_dynamic,
                          index_of(schedule_.steps[i].device),
                          std::move(choices[i]),
                          {},
                          {},
                          workspace_locations_[i]};
        for (ValueId id : node.inputs) step.inputs.push_back(locate(id));
        for (ValueId id : node.outputs) step.outputs.push_back(locate(id));
        step.is_idle = is_idle(graph_, node);
        holds_graphs_ |= node.op->traits.control;
        steps_.push_back(std::move(step));
    }
}

void CompiledProgram::count_pieces() {
    for (auto& step : steps_) {
        if (!step.choice.algorithm) continue;
        for (auto [address, bytes] : step.choice.prepared.packed().pieces) packed_.emplace(address, bytes);
        for (auto [address, bytes] : step.choice.prepared.code()) code_.emplace(address, bytes);
    }
    for (auto [address, bytes] : packed_) {
        memory_.packed_weights += bytes;
        made_constants_.push_back({static_cast<const std::byte*>(address), bytes});
    }
    step_count_ += steps_.size();
    memory_.program = bytes_of_step * step_count_;
    for (auto [address, bytes] : code_) memory_.program += bytes;
}

}  // namespace mge
