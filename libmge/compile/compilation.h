// SPDX-License-Identifier: Apache-2.0
#pragma once
// A compilation is a value that the stages of compile/stages.cpp fill in order. A stage reads the results of
// earlier stages, never a program. For this folder only.

#include <memory>
#include <string>
#include <vector>

#include "libmge/compile/program_parts.h"
#include "libmge/compile/schedule.h"
#include "libmge/kernel/fastrun_cache.h"
#include "libmge/kernel/lookups.h"

namespace mge {

// The parts of the program, and temporary data of the stages.
struct Compilation : ProgramParts {
    // `graph` has a device for each operator and input shapes.
    Compilation(Graph graph, const CompileOptions& options);
    Compilation(const Compilation&) = delete;

    // Notes an option without effect, and warns if the user compiles this graph directly.
    void ignore(std::string option, std::string given, std::string reason);

    const SurroundingProgram* around;  // the program that holds the graph, or nullptr

    // The original graph.
    struct Source {
        ConstantBytes constants;        // including those of nested graphs
        std::vector<NodeId> endpoints;  // operators after which recomputation may cut
        int64_t run_bytes = 0;          // bytes that a run of it, or of the enclosing program, accesses
    } source;

    // Equal problems are looked up and measured once.
    struct Measuring {
        std::unique_ptr<FastrunCache> own_cache;  // null if the caller has one, or nothing is measured
        Lookups lookups;
    } measuring;

    struct Order {
        Schedule schedule;
        std::vector<NodeId> repeated;  // nodes that repeat earlier work
        bool has_overlapped_copies = false;
    } order;

    struct Binding {
        std::vector<Choice> choices;    // by step
        std::vector<bool> is_released;  // by value: a constant that steps read only as packed copies
        std::vector<std::shared_ptr<const Program>> inside;  // programs of nested graphs
    } binding;

    std::vector<StorageRef> arenas;  // by place; empty unless allocated in advance
};

// A stage of a compilation, and the options that enable it.
struct Stage {
    void (*run)(Compilation&);
    bool (*is_on)(const CompileOptions&) = nullptr;  // nullptr: always
};

// Compiles a graph with known devices and shapes, whose options and order have been checked.
std::shared_ptr<const Program> compile_placed(Graph graph, const CompileOptions& options);
// The same for options and an order as a user gave them.
std::shared_ptr<const Program> compile_inferred(Graph graph, const CompileOptions& options);

// The stages, in the order of the list that describes them.
namespace stage {

// Defined in graph_stages.cpp.
void note_constants(Compilation& c);
void name_ports(Compilation& c);
void settle_options(Compilation& c);
void prepare_measuring(Compilation& c);
void find_endpoints(Compilation& c);
void run_passes(Compilation& c);
void check_layout(Compilation& c);
void order_updates(Compilation& c);
void repeat_values(Compilation& c);
void swap_values(Compilation& c);
void give_outputs_memory(Compilation& c);
void number_ports(Compilation& c);
// Defined in step_stages.cpp.
void make_schedule(Compilation& c);
void find_places(Compilation& c);
void check_recording(Compilation& c);
void check_outputs(Compilation& c);
void upload_constants(Compilation& c);
void bind(Compilation& c);
void count_constants(Compilation& c);
void make_steps(Compilation& c);
void plan_copies(Compilation& c);
void assign_threads(Compilation& c);
void check_files(Compilation& c);
void take_arenas(Compilation& c);
// Defined in place_values.cpp.
void place_values(Compilation& c);
void find_taken_inputs(Compilation& c);
// Defined in program_reports.cpp.
void count_pieces(Compilation& c);
void report_steps(Compilation& c);
void report_values(Compilation& c);
void report_options(Compilation& c);

}  // namespace stage
}  // namespace mge
