// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/options/options.h"

#include <array>
#include <cstdlib>

#include "libmge/base/error.h"
#include "libmge/compile/options/option_list.h"
#include "libmge/passes/pass.h"
#include "libmge/tensor/layout.h"

namespace mge {
namespace {

constexpr std::string_view own_choice = "auto";
using O = CompileOptions;

// Two options, by field, that cannot both be as they are.
struct Contradiction {
    std::string_view field, other;
    bool (*is_there)(const O&);
    std::string_view reason;
};

bool is_recorded(const O& o) { return o.comp_node_seq_record_level == 2; }

constexpr std::string_view compares_once =
    "below zero every value is compared once, so none may be computed again";
constexpr Contradiction no_fake_runs{"comp_node_seq_record_level", "fake_next_exec",
                                     [](const O& o) { return is_recorded(o) && o.fake_next_exec; },
                                     "at level 2, recording takes a run that computes"};
constexpr std::array contradictions{
    Contradiction{"graph_opt.f16_io_comp", "graph_opt.f16_io_f32_comp",
                  [](const O& o) { return o.graph_opt.f16_io_comp && o.graph_opt.f16_io_f32_comp; },
                  "give one of them"},
    Contradiction{"graph_opt.layout_transform", "layout",
                  [](const O& o) {
                      return o.graph_opt.layout_transform != LayoutTransform::unset &&
                             o.layout != own_choice && o.layout != wanted_layout(o);
                  },
                  "give one of them"},
    Contradiction{"enable_dtr_memory_opt", "enable_sublinear_memory_opt",
                  [](const O& o) { return o.enable_dtr_memory_opt && o.enable_sublinear_memory_opt; },
                  "both give values up and compute them again"},
    Contradiction{"level", "enable_dtr_memory_opt",
                  [](const O& o) { return o.level < 0 && o.enable_dtr_memory_opt; }, compares_once},
    Contradiction{"level", "enable_sublinear_memory_opt",
                  [](const O& o) { return o.level < 0 && o.enable_sublinear_memory_opt; }, compares_once},
    Contradiction{"level", "weight_bits", [](const O& o) { return o.level < 0 && o.weight_bits > 0; },
                  "below zero every value is compared with what all bits of the weights give"},
    no_fake_runs,
    Contradiction{"comp_node_seq_record_level", "force_dynamic_alloc",
                  [](const O& o) { return is_recorded(o) && o.force_dynamic_alloc; },
                  "at level 2, addresses are fixed"},
    Contradiction{"comp_node_seq_record_level", "var_sanity_check_first_run",
                  [](const O& o) { return is_recorded(o) && o.var_sanity_check_first_run; },
                  "at level 2, and the check looks into a run; turn it off"},
    Contradiction{
        "force_output_use_user_specified_memory", "force_output_dynamic_alloc",
        [](const O& o) { return o.force_output_use_user_specified_memory && o.force_output_dynamic_alloc; },
        "outputs lie in one memory or the other"},
};

// Options, by field, that nothing in this build can follow.
struct Missing {
    std::string_view field;
    bool (*is_asked)(const O&);
    std::string_view reason;
};
constexpr std::array missing{
    Missing{"graph_opt.tensorrt", [](const O& o) { return o.graph_opt.tensorrt; },
            "mge has no TensorRT backend"},
    Missing{"allreduce_pack_max_size", [](const O& o) { return o.allreduce_pack_max_size > 0; },
            "a collective of a graph sends one tensor: no gradients are packed; 0 packs nothing"},
};

std::string_view name_of(std::string_view field, OptionWords words) {
    auto* option = find_option(field);
    MGE_CHECK(option, field, " is no option");
    return called(*option, words);
}

void refuse(const Contradiction& c, const O& o, OptionWords words) {
    if (c.is_there(o))
        throw_user(name_of(c.field, words), text("contradicts ", name_of(c.other, words), ": ", c.reason),
                   ErrorClass::value);
}

void check_bounds(const O& o, OptionWords words) {
    for (auto& option : compile_option_list()) {
        if (option.type != OptionType::whole) continue;
        OptionValue value = option.get(o);
        auto* number = std::get_if<int64_t>(&value);
        if (number && (*number < option.least || *number > option.most))
            throw_user(called(option, words),
                       text(*number, " is not between ", option.least, " and ", option.most),
                       ErrorClass::value);
    }
}

}  // namespace

std::string wanted_layout(const CompileOptions& o) {
    bool is_named = o.graph_opt.layout_transform != LayoutTransform::unset;
    return is_named ? std::string(layout_transform_names.at(size_t(o.graph_opt.layout_transform))) : o.layout;
}

void require_fake_runs(const CompileOptions& options) {
    CompileOptions asked = options;
    asked.fake_next_exec = true;
    refuse(no_fake_runs, asked, OptionWords::fields);
}

void check(const CompileOptions& o, OptionWords words) {
    check_bounds(o, words);
    for (auto& contradiction : contradictions) refuse(contradiction, o, words);
    if (o.layout != own_choice) Layout::named(o.layout);  // UserError for a name that does not exist
    if (o.weight_bits != 0 && o.weight_bits != 4 && o.weight_bits != 8)
        throw_user(name_of("weight_bits", words), text("is 0, 4 or 8, not ", o.weight_bits),
                   ErrorClass::value);
    auto& sublinear = o.sublinear_mem_config;
    if (sublinear.genetic_nr_iter > 0 && sublinear.genetic_pool_size < 2)
        throw_user(name_of("sublinear_mem_config.genetic_pool_size", words),
                   text(sublinear.genetic_pool_size, " is too small for ",
                        name_of("sublinear_mem_config.genetic_nr_iter", words), ' ',
                        sublinear.genetic_nr_iter, "; at least 2 survive a round"),
                   ErrorClass::value);
    if (o.eager_evaluation)
        throw_user(
            name_of("eager_evaluation", words),
            "a graph whose values are computed as it grows is not compiled; apply the operators outside "
            "of a GraphBuilder",
            ErrorClass::value);
    for (auto& [field, is_asked, reason] : missing)
        if (is_asked(o))
            throw Error(ErrorCode::device, ErrorClass::not_implemented,
                        text('[', name_of(field, words), "] ", reason));
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

}  // namespace mge
