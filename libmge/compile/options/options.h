// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/base/threads/threads.h"
#include "libmge/base/threads/work_observer.h"
#include "libmge/graph/graph.h"
#include "libmge/kernel/select.h"
#include "libmge/passes/pass_switches.h"

namespace mge {

struct Pass;
class ConstantUploads;

// The memory plan, and how runs are issued to devices.
struct PlanOptions {
    bool in_place = true;
    bool reuse = true;
    bool copies_beside = true;
    bool records_runs = true;
};

// Recomputation: values are freed and computed again later, so that fewer are alive at once.
struct RecomputeOptions {
    bool lowers_peak = false;
    bool keeps_budget = false;
    std::vector<std::string> endpoints;
    // The search for cuts.
    int tries = 10;
    int rounds = 0;
    int pool = 20;
    size_t least_peak = 0;  // MiB
    int workers = usable_cpus() / 2;
    // The budget.
    size_t budget = 0;          // bytes
    size_t smallest = 1 << 20;  // bytes
    double memory_weight = 1, time_weight = 1;
};

// The algorithm of a step, with the step's operator and the operators of the source graph that it computes.
struct KnownAlgorithm {
    std::string op;
    std::vector<int> sources;
    std::string algorithm;
};

// Gives the name by which a user knows the option with this field: "level" -> "--graph-opt-level".
using OptionNaming = std::string_view (*)(std::string_view field);

// Every option of a compilation; tools, bindings and Lite fill it in. docs/compile-options.md describes each
// field; option_list.cpp, which the page is made of, does not compile while a field is missing there.
struct CompileOptions {
    std::map<std::string, bool, std::less<>> passes;
    DeviceId device;
    std::shared_ptr<ConstantUploads> uploads;
    int level = 2;
    std::vector<const Pass*> own_passes;  // must outlive the compilation
    PassSwitches switches;
    PlanOptions plan;
    RecomputeOptions recompute;
    bool enable_memory_swap = false;
    bool no_force_inplace = false;
    bool enable_var_mem_defragment = true;
    bool verify_passes = false;
    std::string layout = "auto";
    bool measure_layouts = false;
    SelectOptions select;
    int threads = default_threads();
    Precision precision = Precision::strict;
    int weight_bits = 0;
    double workspace_factor = 2.0;
    std::vector<std::string> algorithms;
    bool const_shape = false;
    bool fake_next_exec = false;
    int comp_node_seq_record_level = 0;
    std::vector<KnownAlgorithm> known_algorithms;
    bool no_profiling_on_shape_change = false;
    bool keeps_weights = false;
    size_t allreduce_pack_max_size = 0;
    size_t allreduce_pack_ignore_first = 2;
    bool enable_grad_var_static_reshape = false;
    bool eager_evaluation = false;
    int async_exec_level = 1;
    bool comp_seq_sync_device = true;
    bool force_dynamic_alloc = false;
    bool force_output_dynamic_alloc = false;
    bool force_output_use_user_specified_memory = false;
    std::vector<size_t> callback_outputs;
    std::map<ValueId, std::vector<ValueId>> extra_vardeps;
    bool allocate_static_mem_after_graph_compile = false;
    bool var_sanity_check_first_run = true;
    int log_level = 1;
    WorkObserver progress;
    OptionNaming naming = nullptr;  // nullptr: messages name fields
};

// The name of the option with this field in messages.
MGE_API std::string named(const CompileOptions& options, std::string_view field);

// Throws a UserError for options that contradict each other or do not exist, and an Error with code `device`
// for those that this build does not support.
MGE_API void check(const CompileOptions& options);
// UserError when no run may be left out.
MGE_API void require_fake_runs(const CompileOptions& options);

struct PassOptions;
// Returns the options that passes read.
MGE_API PassOptions pass_options(const CompileOptions& options);

}  // namespace mge
