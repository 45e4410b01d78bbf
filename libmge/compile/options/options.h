// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libmge/base/threads/threads.h"
#include "libmge/base/threads/work_observer.h"
#include "libmge/graph/graph.h"
#include "libmge/kernel/select.h"
#include "libmge/passes/graph_optimization.h"

namespace mge {

struct Pass;
class ConstantUploads;

// What the memory plan may do.
struct SequenceOptimization {
    // Views lie in the memory of their inputs, and results overwrite inputs that nobody else reads.
    bool enable_mem_plan_opt = true;
    bool enable_mem_reuse_alloc = true;  // values that are never alive together share memory
    // Copies between host and device on a stream of their own.
    bool enable_seq_comp_node_opt = true;
    // Devices that can keep a run's work are asked for all of it by one call, from the second run on.
    bool enable_run_recording = true;
};

// How recomputation looks for its cuts.
struct SublinearMemConfig {
    int thresh_nr_try = 10;              // thresholds tried around the best of the first ones
    int genetic_nr_iter = 0;             // rounds of random changes to the best cuts
    int genetic_pool_size = 20;          // sets of cuts that go into the next round
    size_t lb_memory = 0;                // MiB: values are given up only as far as the peak is above this
    int num_worker = usable_cpus() / 2;  // threads that simulate; never more than there are CPUs
};

// Recomputation under a budget.
struct DtrConfig {
    size_t eviction_threshold = 0;          // bytes: values are given up as far as the peak is above this
    size_t evictee_minimum_size = 1 << 20;  // bytes: smaller values stay
    // How much memory and time of a single value weigh. Cuts are judged by simulated plans instead, so these
    // have no effect.
    double recomp_memory_factor = 1, recomp_time_factor = 1;
};

struct OprAttribute {
    // Operators, by their own name or their result's, behind which alone recomputation may cut; empty: all.
    std::vector<std::string> sublinear_memory_endpoint;
};

// What an algorithm was chosen for: the operator of the step and those of the source graph whose work it
// does.
struct KnownAlgorithm {
    std::string op;
    std::vector<int> sources;
    std::string algorithm;
};

// Every option of compilation. Tools, Lite and Python only fill it in. A new one gets a row in
// option_list.cpp, which does not compile without.
struct CompileOptions {
    // By pass name: true on, false off; a pass not mentioned is the engine's decision.
    std::map<std::string, bool, std::less<>> passes;
    // What lies at the graph's default place (graph/place.h) lies there.
    DeviceId device;
    // Where constants are that other programs of the graph have uploaded; null: nowhere yet.
    std::shared_ptr<ConstantUploads> uploads;
    // Optimisation level: 0 none; 1 algebra and constants; 2 fusions and layouts as well; 3 as 2, with
    // graph_opt.jit on when it is unset. Below zero: the same level, and every run compares each value that a
    // pass replaced with what the graph as it was gives; an Error with code `accuracy` names pass and value.
    int level = 2;
    // Further passes, which run after the engine's own. They have to outlive the compilation.
    std::vector<const Pass*> own_passes;
    GraphOptimization graph_opt;
    SequenceOptimization seq_opt;
    OprAttribute opr_attribute;
    // Values that wait long for their last readers are given up and computed again, so that fewer are alive
    // at once.
    bool enable_sublinear_memory_opt = false;
    SublinearMemConfig sublinear_mem_config;
    // The same with another measure of how much; not both.
    bool enable_dtr_memory_opt = false;
    DtrConfig dtr_config;
    // Values that wait while their device is fullest go to host memory and come back. On a CPU it has no
    // effect.
    bool enable_memory_swap = false;
    // Operators that may write over an operand (item assignment, an optimizer's step, running statistics) are
    // not moved behind the others that read it: where it is read later their result is a new value.
    bool no_force_inplace = false;
    // When a value of a run-time shape does not fit, those that nobody outside holds are moved together, and
    // it is tried again.
    bool enable_var_mem_defragment = true;
    // Verifies the graph after each pass.
    bool verify_passes = false;
    // "auto" (by cost), "nchw", "nhwc", "nChw16c", "NCHW88", … One in which no kernel works on the graph has
    // no effect: the engine chooses then, and Program::options_without_effect() says so.
    std::string layout = "auto";
    // Layouts are compared by measured times, also when algorithms are not measured.
    bool measure_layouts = false;
    SelectOptions select;
    int threads = default_threads();
    Precision precision = Precision::strict;
    // Bits in which matrix products keep each weight of a large constant matrix; all arithmetic stays f32.
    // 4 or 8; 0: all bits.
    int weight_bits = 0;
    // How far fast-run may raise the arena above the heuristic plan.
    double workspace_factor = 2.0;
    // By step, the name of the algorithm to take; an empty name leaves the choice open. Empty: all choices
    // are open. DeviceError names the step whose algorithm is missing, and why.
    std::vector<std::string> algorithms;
    // Other input shapes than the graph's own are an error, instead of being compiled when they come.
    bool const_shape = false;
    // The first run of a context, or of an Executable, allocates and prepares, and computes nothing.
    bool fake_next_exec = false;
    // 1: the kernels are recorded once and replayed, which every program does that has no shapes to find out
    // at run time (one that has runs as usual, with a warning), whatever seq_opt says; 2: the graph behind
    // them is given up as well.
    int comp_node_seq_record_level = 0;
    // Algorithms of another program of the graph, taken by the steps that do the same work if they can.
    std::vector<KnownAlgorithm> known_algorithms;
    // An Executable takes the algorithms of its first shapes for all others, and measures no more.
    bool no_profiling_on_shape_change = false;
    // Constants that steps read only as packed copies keep their memory: for observers that look at weights.
    bool keeps_weights = false;
    // MiB of gradients that are packed into one collective, and how many of the first are not. A collective
    // of a graph sends one tensor: above 0 is an error.
    size_t allreduce_pack_max_size = 0;
    size_t allreduce_pack_ignore_first = 2;
    // The gradient of a value with a known shape gets that shape. It has it anyhow.
    bool enable_grad_var_static_reshape = false;
    // A value is computed when its operator is inserted: what operators outside of a GraphBuilder do. A graph
    // that does so cannot be compiled.
    bool eager_evaluation = false;
    // Which threads ask the queues of a program for its work: see async_level.h. With threads of its own a
    // run() returns before all is asked for.
    int async_exec_level = 1;
    // Context::wait() waits for the devices; false: until they have been asked for everything.
    bool comp_seq_sync_device = true;
    // No plan: each value is allocated when it is computed and given back after its last reader.
    bool force_dynamic_alloc = false;
    // Outputs get new memory in each run as long as somebody holds what output() gave of the last one.
    bool force_output_dynamic_alloc = false;
    // Outputs are written into memory that Context::bind_output gives; a run without it is an error.
    bool force_output_use_user_specified_memory = false;
    // Outputs, by their positions, that nobody reads but the callback of Context::on_output(): later steps
    // get their memory, and Context::output() is an error.
    std::vector<size_t> callback_outputs;
    // By value: others that are computed before anybody reads it, though nothing reads them (order_after() in
    // graph/dependencies.h).
    std::map<ValueId, std::vector<ValueId>> extra_vardeps;
    // The arena of the first context is taken while compiling, so that a lack of memory shows there.
    bool allocate_static_mem_after_graph_compile = false;
    // The first run of a program takes a checksum of each value when it is computed and compares it before
    // and after each of its readers.
    bool var_sanity_check_first_run = true;
    // What MGE_LOG shows of a compilation: 0 nothing; 1 a line for each pass that changed the graph and one
    // for the memory plan; 2 each replaced value as well.
    int log_level = 1;
    // Is told how far the compilation is, which takes long when algorithms are measured; empty: nobody.
    WorkObserver progress;
};

// What messages call an option: its field, load_and_run's flag, or the keyword in Python.
enum class OptionWords : uint8_t { fields, flags, keywords };
// UserError for options that contradict each other or do not exist; Error with code `device` for those that
// this build cannot do.
MGE_API void check(const CompileOptions& options, OptionWords words = OptionWords::fields);
// UserError when no run may be left out.
MGE_API void require_fake_runs(const CompileOptions& options);

// The layout of `layout` or graph_opt.layout_transform; "auto" when neither says one.
MGE_API std::string wanted_layout(const CompileOptions& options);

struct PassOptions;
// What of them concerns the passes.
MGE_API PassOptions pass_options(const CompileOptions& options);

}  // namespace mge
