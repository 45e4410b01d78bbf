// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/options/ignored_options.h"

#include <algorithm>
#include <array>

#include "libmge/compile/lane_plan.h"
#include "libmge/compile/options/option_list.h"
#include "libmge/device/cpu/cpu_device.h"
#include "libmge/device/device.h"
#include "libmge/device/recording.h"
#include "libmge/graph/node_problem.h"
#include "libmge/kernel/cpu/in_other_dtype.h"
#include "libmge/ops/elementwise/fused/fused.h"
#include "libmge/ops/elementwise/fused/fused_region.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "libmge/ops/quantize/compressed/compressed_matmul.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/vision/preprocess.h"

namespace mge {
namespace {

// A compilation that is over, but for its report.
struct Done {
    const CompileOptions& options;
    const Graph& graph;
    std::span<const StepReport> steps;
    size_t packed_weights;
};

bool any_node(const Done& done, auto&& is_it) { return std::ranges::any_of(done.graph.nodes(), is_it); }

bool has_input(const Node& node, size_t i) { return node.inputs.size() > i && node.inputs[i] != no_value; }

constexpr size_t bias = 2, residual = 3;  // inputs of a convolution

bool fuses_conv_bias(const Done& done) {
    return any_node(done, [](const Node& node) {
        return node.op == &ops::Conv2d::info &&
               (has_input(node, bias) || node.as<ops::Conv2d::Params>().activation != Activation::none);
    });
}
bool fuses_residual(const Done& done) {
    return any_node(
        done, [](const Node& node) { return node.op == &ops::Conv2d::info && has_input(node, residual); });
}
bool joins_means(const Done& done) {
    return any_node(done,
                    [](const Node& node) { return node.op == &ops::Mean::info && node.sources.size() > 1; });
}
bool fuses_preprocess(const Done& done) {
    return any_node(done, [](const Node& node) { return node.op == &ops::Preprocess::info; });
}
bool fuses_region(const Done& done) {
    return any_node(done, [](const Node& node) { return node.op == &ops::FusedRegion::info; });
}
bool fuses_elementwise(const Done& done) {
    return fuses_region(done) ||
           any_node(done, [](const Node& node) { return node.op == &ops::FusedElementwise::info; });
}
bool stores(const Done& done, DType dtype) {
    return std::ranges::any_of(done.graph.values(), [&](auto& value) { return value.spec.dtype == dtype; });
}
bool stores_f16(const Done& done) { return stores(done, DType::f16); }

// An option, when it counts as given, and what shows that it did something.
struct Effect {
    std::string_view field;
    bool (*is_given)(const CompileOptions&);
    bool (*acts)(const Done&);
    std::string_view reason;
};

// On a CPU by the algorithm that a step has, or will have once its shapes are known, or by values of bf16.
bool rounds_products(const Done& done) {
    auto rounds = [](const StepReport& step) {
        return step.algorithm.starts_with(cpu::in_rounded.prefix) ||
               (step.algorithm.empty() && cpu_isa() >= Isa::amx);
    };
    return std::ranges::any_of(done.steps, rounds) || stores(done, DType::bf16) ||
           any_node(done, [&](const Node& node) {
               return node.op->autocast == Autocast::narrow && !running_place(done.graph, node).is_host();
           });
}

bool compresses_weights(const Done& done) {
    return any_node(done, [](const Node& node) { return node.op == &ops::CompressedMatmul::info; });
}

bool can_record(const Done& done) { return dynamic_cast<RecordingQueue*>(&queue_of(done.options.device)); }

bool never_done(const Done&) { return false; }

using O = CompileOptions;
constexpr std::array effects{
    Effect{"switches.fuse_bias", [](const O& o) { return o.switches.fuse_bias == true; }, fuses_conv_bias,
           "no convolution of this model has a bias or an activation after it"},
    Effect{"switches.fuse_residual", [](const O& o) { return o.switches.fuse_residual == true; },
           fuses_residual, "no convolution of this model is added to another image"},
    Effect{"switches.join_means", [](const O& o) { return o.switches.join_means == true; }, joins_means,
           "no mean of this model is one of a mean"},
    Effect{"switches.fuse_preprocess", [](const O& o) { return o.switches.fuse_preprocess == true; },
           fuses_preprocess, "no input of this model is converted in several steps"},
    Effect{"switches.pack_weights", [](const O& o) { return o.switches.pack_weights == true; },
           [](const Done& done) { return done.packed_weights > 0; },
           "no algorithm of this program packs its weights"},
    Effect{"switches.fuse_elementwise",
           [](const O& o) { return o.switches.fuse_elementwise.value_or(0) > 0; }, fuses_elementwise,
           "this model has no elementwise operators that one step could do"},
    Effect{"switches.fuse_transposes", [](const O& o) { return o.switches.fuse_transposes == true; },
           fuses_elementwise, "this model has no transpositions that an elementwise step could do"},
    Effect{"switches.fuse_reductions", [](const O& o) { return o.switches.fuse_reductions == true; },
           fuses_region, "this model has no reductions after elementwise operators"},
    Effect{"switches.compute_half", [](const O& o) { return o.switches.compute_half; }, stores_f16,
           "no value of this model can be stored as float16"},
    Effect{"switches.store_half", [](const O& o) { return o.switches.store_half; }, stores_f16,
           "no value of this model can be stored as float16"},
    Effect{"plan.copies_beside", [](const O& o) { return !o.plan.copies_beside; },
           [](const Done& done) { return has_overlapped_copies(done.graph); },
           "this program has no copies between the host and a device that can overlap them with work"},
    Effect{"plan.records_runs", [](const O& o) { return !o.plan.records_runs; }, can_record,
           "only GPUs keep the work of a run"},
    Effect{"allreduce_pack_ignore_first",
           [](const O& o) { return o.allreduce_pack_ignore_first != O().allreduce_pack_ignore_first; },
           never_done, "a collective of a graph sends one tensor: no gradients are packed"},
    Effect{"enable_grad_var_static_reshape", [](const O& o) { return o.enable_grad_var_static_reshape; },
           never_done, "the shape of a gradient is inferred as every other shape is"},
    Effect{"precision", [](const O& o) { return o.precision != Precision::strict; }, rounds_products,
           "no product of this program is computed in fewer bits"},
    Effect{"weight_bits", [](const O& o) { return o.weight_bits > 0; }, compresses_weights,
           "this model has no product with a large constant matrix"},
    Effect{"recompute.memory_weight",
           [](const O& o) { return o.recompute.keeps_budget && o.recompute.memory_weight != 1; }, never_done,
           "what is given up is found by simulated plans, not by weighing single values"},
    Effect{"recompute.time_weight",
           [](const O& o) { return o.recompute.keeps_budget && o.recompute.time_weight != 1; }, never_done,
           "what is given up is found by simulated plans, not by weighing single values"},
};

// Options, by field, that have an effect only together with others. A reason names an option by
// its field in braces.
struct SubOptions {
    std::string_view field;
    bool (*is_read)(const CompileOptions&);
    std::string_view reason;
};
constexpr auto lowers_peak = [](const O& o) { return o.recompute.lowers_peak; };
constexpr auto keeps_budget = [](const O& o) { return o.recompute.keeps_budget; };
constexpr std::string_view only_for_peak = "only {recompute.lowers_peak} reads it";
constexpr std::string_view only_for_budget = "only {recompute.keeps_budget} reads it";
constexpr std::array sub_options{
    SubOptions{"recompute.tries", lowers_peak, only_for_peak},
    SubOptions{"recompute.rounds", lowers_peak, only_for_peak},
    SubOptions{"recompute.pool", lowers_peak, only_for_peak},
    SubOptions{"recompute.pool", [](const O& o) { return o.recompute.rounds > 0; },
               "only {recompute.rounds} above 0 reads it"},
    SubOptions{"recompute.least_peak", lowers_peak, only_for_peak},
    SubOptions{"recompute.workers", lowers_peak, only_for_peak},
    SubOptions{"recompute.budget", keeps_budget, only_for_budget},
    SubOptions{"recompute.smallest", keeps_budget, only_for_budget},
    SubOptions{"recompute.memory_weight", keeps_budget, only_for_budget},
    SubOptions{"recompute.time_weight", keeps_budget, only_for_budget},
    SubOptions{"recompute.endpoints",
               [](const O& o) { return o.recompute.lowers_peak || o.recompute.keeps_budget; },
               "only {recompute.lowers_peak} and {recompute.keeps_budget} read it"},
    SubOptions{"workspace_factor", [](const O& o) { return o.select.profile; },
               "without measured times each step takes its first algorithm anyway"},
    SubOptions{"select.shared_batch_size", [](const O& o) { return o.select.profile; },
               "nothing is measured, and no measured time is looked up"},
};

std::string with_names(const CompileOptions& options, std::string reason) {
    for (size_t open = 0; (open = reason.find('{')) != reason.npos;) {
        size_t close = reason.find('}', open);
        std::string name = named(options, reason.substr(open + 1, close - open - 1));
        reason.replace(open, close - open + 1, name);
    }
    return reason;
}

}  // namespace

std::optional<std::string> why_unread(const CompileOptions& options, const OptionInfo& option) {
    for (auto& sub : sub_options)
        if (option.field == sub.field && !sub.is_read(options))
            return with_names(options, std::string(sub.reason));
    return std::nullopt;
}

std::vector<IgnoredOption> find_ignored_options(const CompileOptions& options, const Graph& compiled,
                                                std::span<const StepReport> steps, size_t packed_weights) {
    std::vector<IgnoredOption> ignored;
    for (auto& effect : effects)
        if (effect.is_given(options) && !effect.acts({options, compiled, steps, packed_weights}))
            ignored.push_back({std::string(effect.field), to_text(find_option(effect.field)->get(options)),
                               std::string(effect.reason)});
    for (auto& option : compile_option_list()) {
        if (!option.is_value()) continue;
        OptionValue given = option.get(options);
        auto reason = given == option.get(CompileOptions()) ? std::nullopt : why_unread(options, option);
        if (reason) ignored.push_back({std::string(option.field), to_text(given), *reason});
    }
    return ignored;
}

}  // namespace mge
