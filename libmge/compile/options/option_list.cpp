// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/options/option_list.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "libmge/base/error.h"
#include "libmge/base/joined.h"
#include "libmge/compile/options/option_codec.h"

namespace mge {

// Converts to every type of a member. The conversions are never called, so never defined; clang would want
// definitions in an unnamed namespace.
struct Anything {
    template <class T>
    operator T&() const&;
    template <class T>
    operator T&&() const&&;
};

namespace {

template <auto Member, auto... Rest>
auto& at(auto& options) {
    if constexpr (sizeof...(Rest) == 0)
        return options.*Member;
    else
        return at<Rest...>(options.*Member);
}
template <auto... Path>
using TypeAt = std::remove_cvref_t<decltype(at<Path...>(std::declval<CompileOptions&>()))>;

template <class Codec, auto... Path>
constexpr OptionInfo coded_option(OptionInfo row) {
    row.type = Codec::type;
    row.get = +[](const CompileOptions& o) { return Codec::get(at<Path...>(o)); };
    row.set = +[](CompileOptions& o, const OptionValue& value) { return Codec::set(at<Path...>(o), value); };
    return row;
}
template <auto... Path>
constexpr OptionInfo option(OptionInfo row) {
    using Type = TypeAt<Path...>;
    row.may_be_unset = requires(Type member) { member.reset(); };
    return coded_option<OptionCodec<Type>, Path...>(row);
}
template <auto... Path>
constexpr OptionInfo limit(OptionInfo row) {
    row.may_be_unset = true;
    return coded_option<LimitCodec, Path...>(row);
}
// An option that only C++ programs can give.
constexpr OptionInfo object(std::string_view field, std::string_view doc) {
    return {.field = field, .doc = doc, .is_stored = false};
}

using O = CompileOptions;
using Switches = PassSwitches;
using Recompute = RecomputeOptions;
constexpr auto switches = &O::switches;
constexpr auto plan = &O::plan;
constexpr auto again = &O::recompute;
constexpr auto chosen = &O::select;
constexpr int64_t any_size = INT64_MAX;

constexpr std::array rows{
    option<&O::level>({.field = "level",
                       .doc =
                           "0: no passes; 1: algebra and constants; 2: also fusions and layouts; 3: also all "
                           "legal elementwise fusions. Below zero: the same level, and each run checks every "
                           "value that a pass replaced",
                       .least = -3,
                       .most = 3}),
    option<switches, &Switches::fuse_bias>(
        {.field = "switches.fuse_bias", .doc = "Fuse bias and activation into convolutions"}),
    option<switches, &Switches::fuse_residual>(
        {.field = "switches.fuse_residual", .doc = "Fuse the sum with another image into convolutions"}),
    option<switches, &Switches::join_means>(
        {.field = "switches.join_means",
         .doc = "Replace a mean of a mean, and an average pooling of an average pooling, by one step"}),
    option<switches, &Switches::fuse_preprocess>(
        {.field = "switches.fuse_preprocess",
         .doc = "Convert an input, or an image after warping, in one step"}),
    option<switches, &Switches::pack_weights>(
        {.field = "switches.pack_weights", .doc = "Pack constant weights ahead of the runs"}),
    option<switches, &Switches::fuse_elementwise>(
        {.field = "switches.fuse_elementwise",
         .doc = "0: fuse no elementwise operators; 1: fuse them with transpositions; 2: fuse them with a "
                "reduction",
         .most = 2}),
    option<switches, &Switches::fuse_transposes>(
        {.field = "switches.fuse_transposes",
         .doc = "Fuse transpositions into elementwise steps, at every level of elementwise fusion"}),
    option<switches, &Switches::fuse_reductions>(
        {.field = "switches.fuse_reductions",
         .doc = "Fuse a reduction at the end of elementwise steps, at every level of elementwise fusion"}),
    option<switches, &Switches::compute_half>(
        {.field = "switches.compute_half",
         .doc = "Store weights and values between steps as float16, and compute in float16 where the device "
                "can"}),
    option<switches, &Switches::store_half>(
        {.field = "switches.store_half",
         .doc = "Store weights and values between steps as float16, and compute in float32"}),
    option<&O::layout>(
        {.field = "layout", .doc = "The layout of images; auto: the one with the lowest cost"}),
    option<&O::measure_layouts>({.field = "measure_layouts",
                                 .doc = "Choose the layout of every part of the graph by measured times",
                                 .is_stored = false}),
    option<plan, &PlanOptions::in_place>(
        {.field = "plan.in_place",
         .doc = "Let views share memory with their inputs, and results overwrite inputs that nothing else "
                "reads; on by default"}),
    option<plan, &PlanOptions::reuse>(
        {.field = "plan.reuse",
         .doc = "Let values that are never alive together share memory; on by default"}),
    option<plan, &PlanOptions::copies_beside>(
        {.field = "plan.copies_beside",
         .doc = "Copy between the host and a device in a separate stream, if the device has one"}),
    option<plan, &PlanOptions::records_runs>(
        {.field = "plan.records_runs",
         .doc = "Start a run on a GPU with one call, from the second run on; on by default"}),
    option<again, &Recompute::endpoints>(
        {.field = "recompute.endpoints",
         .doc = "Operators after which recomputation may cut the graph; empty: all"}),
    option<again, &Recompute::lowers_peak>(
        {.field = "recompute.lowers_peak",
         .doc = "Recompute values that wait long for their last readers, so that fewer are alive at once"}),
    option<again, &Recompute::tries>(
        {.field = "recompute.tries",
         .doc = "Recomputation: segment sizes to try around the best of the first ones"}),
    option<again, &Recompute::rounds>(
        {.field = "recompute.rounds", .doc = "Recomputation: rounds of random changes to the best cuts"}),
    option<again, &Recompute::pool>(
        {.field = "recompute.pool",
         .doc = "Recomputation: sets of cuts that go into the next round, at least 2"}),
    option<again, &Recompute::least_peak>({.field = "recompute.least_peak",
                                           .unit = "MiB",
                                           .doc = "Recomputation: stop once the peak is below this"}),
    option<again, &Recompute::workers>({.field = "recompute.workers",
                                        .doc = "Recomputation: threads that search for cuts",
                                        .most = 1024,
                                        .default_text = "half of the CPUs",
                                        .is_stored = false}),
    option<again, &Recompute::keeps_budget>(
        {.field = "recompute.keeps_budget",
         .doc = "Recompute values as far as the peak exceeds the budget of recomputation"}),
    option<again, &Recompute::budget>({.field = "recompute.budget",
                                       .unit = "bytes",
                                       .doc = "Recomputation under a budget: what may be alive at once",
                                       .most = any_size}),
    option<again, &Recompute::smallest>({.field = "recompute.smallest",
                                         .unit = "bytes",
                                         .doc = "Recomputation under a budget: keep smaller values",
                                         .most = any_size}),
    option<again, &Recompute::memory_weight>(
        {.field = "recompute.memory_weight",
         .doc = "How much the memory of a value counts; no effect: plans are simulated"}),
    option<again, &Recompute::time_weight>(
        {.field = "recompute.time_weight",
         .doc = "How much the time of a value counts; no effect: plans are simulated"}),
    option<&O::enable_memory_swap>(
        {.field = "enable_memory_swap",
         .doc = "Move large waiting values of a GPU to host memory and back; no effect on a CPU"}),
    option<&O::no_force_inplace>(
        {.field = "no_force_inplace",
         .doc = "Do not delay an operator until it can overwrite an operand that others read"}),
    option<&O::enable_var_mem_defragment>(
        {.field = "enable_var_mem_defragment",
         .doc = "Move values together when one of a run-time shape does not fit; on by default"}),
    option<&O::force_dynamic_alloc>(
        {.field = "force_dynamic_alloc",
         .doc = "Plan no memory: allocate each value when it is computed, free it after its last reader"}),
    option<&O::force_output_dynamic_alloc>(
        {.field = "force_output_dynamic_alloc",
         .doc = "Give outputs new memory in each run while the caller holds those of the last run"}),
    option<&O::force_output_use_user_specified_memory>(
        {.field = "force_output_use_user_specified_memory",
         .doc = "Write outputs into the caller's memory, without a copy",
         .is_stored = false}),
    option<&O::allocate_static_mem_after_graph_compile>(
        {.field = "allocate_static_mem_after_graph_compile",
         .doc = "Allocate the planned memory while compiling, not when a context is made"}),
    option<&O::async_exec_level>({.field = "async_exec_level",
                                  .doc =
                                      "Threads that issue a program's work. 0: the caller; 1: one per device "
                                      "other than CPUs; 2: one per place; 4: never the caller",
                                  .most = 7}),
    option<&O::comp_seq_sync_device>(
        {.field = "comp_seq_sync_device",
         .doc = "Wait until devices have finished, not only until all work is issued; on by default"}),
    option<&O::const_shape>(
        {.field = "const_shape",
         .doc = "Take the input shapes of the graph as constants; other shapes are an error"}),
    option<&O::fake_next_exec>(
        {.field = "fake_next_exec", .doc = "Let the first run prepare everything and compute nothing"}),
    option<&O::comp_node_seq_record_level>(
        {.field = "comp_node_seq_record_level",
         .doc = "1: replay a recorded list of kernels; 2: also release the graph, so that shapes are fixed",
         .most = 2}),
    option<&O::no_profiling_on_shape_change>(
        {.field = "no_profiling_on_shape_change",
         .doc = "Use the algorithms of the first shapes for all others, and measure no more"}),
    option<&O::var_sanity_check_first_run>(
        {.field = "var_sanity_check_first_run",
         .doc = "Check in the first run that no operator changes a value that it only reads"}),
    option<&O::keeps_weights>({.field = "keeps_weights",
                               .doc = "Keep the memory of constants that steps read only as packed copies",
                               .is_stored = false}),
    option<&O::log_level>({.field = "log_level",
                           .doc =
                               "Detail of MGE_LOG=passes,memory. 0: nothing; 1: a line per pass and plan; 2: "
                               "also each replaced value",
                           .most = 2,
                           .is_stored = false}),
    option<&O::verify_passes>(
        {.field = "verify_passes", .doc = "Verify the graph after each pass", .is_stored = false}),
    option<&O::allreduce_pack_max_size>(
        {.field = "allreduce_pack_max_size",
         .unit = "MiB",
         .doc =
             "Size of the gradients packed into one collective; graphs pack none, so above 0 is an error"}),
    option<&O::allreduce_pack_ignore_first>(
        {.field = "allreduce_pack_ignore_first",
         .doc = "Number of the first gradients that are not packed; no effect: graphs pack none"}),
    option<&O::enable_grad_var_static_reshape>(
        {.field = "enable_grad_var_static_reshape",
         .doc = "Give gradients the known shape of their value; no effect: they always have it"}),
    option<&O::eager_evaluation>({.field = "eager_evaluation",
                                  .doc = "Compute values when their operators are inserted; an error: such a "
                                         "graph is not compiled",
                                  .is_stored = false}),
    option<&O::precision>(
        {.field = "precision",
         .doc = "strict: f32; relaxed: products may round their factors to bf16; fast: values between steps "
                "may be bf16 too. Applies where the device computes faster so",
         .words = precision_names}),
    option<&O::weight_bits>(
        {.field = "weight_bits",
         .doc = "Bits of each weight of linear layers, 8 or 4; arithmetic stays f32. 0: all bits",
         .most = 8}),
    option<&O::threads>({.field = "threads",
                         .doc = "Threads that an operator may use",
                         .least = 1,
                         .most = 1024,
                         .default_text = "all of the process",
                         .is_stored = false}),
    option<&O::workspace_factor>(
        {.field = "workspace_factor",
         .doc = "How far measured algorithms may enlarge the memory plan over the unmeasured one"}),
    option<chosen, &SelectOptions::heuristic>(
        {.field = "select.heuristic",
         .doc = "Take the first supported algorithm of the list, without measured times",
         .is_stored = false}),
    option<chosen, &SelectOptions::profile>(
        {.field = "select.profile",
         .doc =
             "Choose algorithms by times from the cache; measure those that it lacks unless heuristic is on",
         .is_stored = false}),
    option<chosen, &SelectOptions::optimized>(
        {.field = "select.optimized", .doc = "Measure no reference algorithms", .is_stored = false}),
    option<chosen, &SelectOptions::reproducible>(
        {.field = "select.reproducible", .doc = "Only algorithms that give the same bits every time"}),
    option<chosen, &SelectOptions::same_between_batches>(
        {.field = "select.same_between_batches",
         .doc = "Only algorithms whose results do not depend on the batch size, bit by bit"}),
    option<chosen, &SelectOptions::reference>({.field = "select.reference",
                                               .doc = "Take the algorithms that define the meaning",
                                               .is_stored = false}),
    option<chosen, &SelectOptions::forced>(
        {.field = "select.forced", .doc = "Take exactly this algorithm, by name", .is_stored = false}),
    limit<chosen, &SelectOptions::workspace_limit>({.field = "select.workspace_limit",
                                                    .unit = "bytes",
                                                    .doc = "Largest workspace of a step",
                                                    .most = any_size}),
    option<chosen, &SelectOptions::shared_batch_size>(
        {.field = "select.shared_batch_size",
         .doc = "Measure convolutions, products and pooling with this batch size; 0: with that of the inputs",
         .most = any_size,
         .is_stored = false}),
    object("select.cache", "The fast-run cache"),
    object("select.lookups", "Cache entries that one compilation has looked up"),
    object("select.measure", "Source of measured times, for tests"),
    object("select.together", "Shares preparations between algorithms; set by the compilation"),
    object("select.packed_copies", "Records each packed copy of a constant"),
    object("select.weight_cache", "Packed constants of earlier processes"),
    object("select.around", "The program that holds the graph; set by the compilation"),
    object("passes", "Passes by name, on or off; the engine decides about those not mentioned"),
    object("own_passes", "Further passes, which run after the engine's own"),
    object("device", "The default place of the graph's values"),
    object("uploads", "Constants that other programs of the graph have uploaded"),
    object("algorithms", "The algorithm of each step, by name; an empty name leaves the choice open"),
    object("known_algorithms",
           "Algorithms of another program of the graph, for the steps that do the same work"),
    object("callback_outputs", "Positions of outputs that only the callback of Context::on_output reads"),
    object("extra_vardeps", "By value id: values that must be computed before it is read"),
    object("progress", "Receives the progress of the compilation"),
    object("naming", "How messages name options; nullptr: by field"),
};

// How many members an aggregate has: as many as it can be made from.
template <class T, size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
    return requires { T{(void(I), Anything())...}; };
}
template <class T, size_t Guess = 64>
constexpr size_t member_count() {
    if constexpr (takes<T>(std::make_index_sequence<Guess>()))
        return Guess;
    else
        return member_count<T, Guess - 1>();
}

// The number of different members below `parent` ("plan.") that the list names.
constexpr size_t named_below(std::string_view parent) {
    size_t count = 0;
    auto member = [&](std::string_view field) {
        std::string_view rest = field.starts_with(parent) ? field.substr(parent.size()) : std::string_view();
        return rest.substr(0, rest.find('.'));
    };
    for (size_t i = 0; i < rows.size(); ++i) {
        auto name = member(rows[i].field);
        bool is_new = !name.empty();
        for (size_t j = 0; j < i; ++j) is_new = is_new && member(rows[j].field) != name;
        count += is_new;
    }
    return count;
}

// A new field has a row above, or this does not compile.
static_assert(named_below("") == member_count<CompileOptions>(), "a field of CompileOptions has no row");
static_assert(named_below("switches.") == member_count<PassSwitches>());
static_assert(named_below("plan.") == member_count<PlanOptions>());
static_assert(named_below("recompute.") == member_count<RecomputeOptions>());
static_assert(named_below("select.") == member_count<SelectOptions>());

std::string expected(const OptionInfo& option) {
    std::string words;
    switch (option.type) {
        case OptionType::truth:
            return "needs true or false";
        case OptionType::whole:
            return "needs a whole number";
        case OptionType::real:
            return "needs a number";
        case OptionType::texts:
            return "needs a list of texts";
        case OptionType::text:
            for (auto word : option.words)
                if (!word.empty()) words += text(words.empty() ? "needs one of " : ", ", word);
            return words.empty() ? "needs a text" : words;
        case OptionType::object:
            break;
    }
    return "cannot be given as a value";
}

}  // namespace

std::span<const OptionInfo> compile_option_list() { return rows; }

const OptionInfo* find_option(std::string_view field) {
    auto found = std::ranges::find(rows, field, &OptionInfo::field);
    return found == rows.end() ? nullptr : &*found;
}

std::string doc_of(std::string_view field) {
    auto* option = find_option(field);
    MGE_CHECK(option, field, " is not an option");
    return std::string(option->doc);
}

std::string default_text(const OptionInfo& option) {
    if (!option.default_text.empty()) return std::string(option.default_text);
    return option.is_value() ? to_text(option.get(CompileOptions())) : "none";
}

std::string to_text(const OptionValue& value) {
    struct Writer {
        std::string operator()(std::monostate) const { return "unset"; }
        std::string operator()(bool given) const { return given ? "true" : "false"; }
        std::string operator()(int64_t given) const { return text(given); }
        std::string operator()(double given) const { return text(given); }
        std::string operator()(const std::string& given) const { return given; }
        std::string operator()(const std::vector<std::string>& given) const { return joined(given, ","); }
    };
    return std::visit(Writer(), value);
}

void set_option(CompileOptions& options, const OptionInfo& option, const OptionValue& value) {
    auto fail = [&](const std::string& what, ErrorClass kind) {
        throw_user(named(options, option.field), what, kind);
    };
    auto refuse_bounds = [&](int64_t number) {
        if (number < option.least || number > option.most)
            fail(text(number, " is not between ", option.least, " and ", option.most), ErrorClass::value);
    };
    CompileOptions changed = options;
    bool is_whole = option.type == OptionType::whole;
    if (auto* given = std::get_if<int64_t>(&value); given && is_whole) refuse_bounds(*given);
    if (!option.is_value() || !option.set(changed, value))
        fail(text(expected(option), ", got '", to_text(value), "'"), ErrorClass::type);
    OptionValue now = option.get(changed);
    if (auto* number = std::get_if<int64_t>(&now); number && is_whole) refuse_bounds(*number);
    options = std::move(changed);
}

}  // namespace mge
