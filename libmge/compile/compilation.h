// SPDX-License-Identifier: Apache-2.0
#pragma once
// A compilation is one value that the stages of compile/stages.cpp fill in their order. A stage reads what
// earlier stages have made and never a program. For the files of this folder only.

#include <memory>
#include <string>
#include <vector>

#include "libmge/compile/program_parts.h"
#include "libmge/compile/schedule.h"
#include "libmge/kernel/fastrun_cache.h"
#include "libmge/kernel/lookups.h"

namespace mge {

// The parts of the program, and what only the stages need.
struct Compilation : ProgramParts {
    // `graph` has a place for each operator, and the shapes of its inputs.
    Compilation(Graph graph, const CompileOptions& options);
    Compilation(const Compilation&) = delete;

    // Adds an option that had no effect, with a warning where the user compiles.
    void ignore(std::string option, std::string given, std::string reason);

    const SurroundingProgram* around;  // the program that holds the graph; null: none

    // The graph as it came.
    struct Source {
        ConstantBytes constants;        // those of inner graphs as well
        std::vector<NodeId> endpoints;  // the operators behind which recomputation may cut
        int64_t run_bytes = 0;  // bytes that a run of it, or of the program around it, reads and writes
    } source;

    // Equal problems are looked up and measured once.
    struct Measuring {
        std::unique_ptr<FastrunCache> own_cache;  // null when the caller has one, or nothing is measured
        Lookups lookups;
    } measuring;

    struct Order {
        Schedule schedule;
        std::vector<NodeId> repeated;  // nodes that compute again
        bool has_copies_beside = false;
    } order;

    struct Binding {
        std::vector<Choice> choices;    // by step
        std::vector<bool> is_released;  // by value: a constant that steps read only as packed copies
        std::vector<std::shared_ptr<const Program>> inside;  // programs of the graphs that steps hold
    } binding;

    std::vector<StorageRef> arenas;  // by place; empty unless they are allocated ahead
};

// One step of a compilation, and the options with which it is taken.
struct Stage {
    void (*run)(Compilation&);
    bool (*is_on)(const CompileOptions&) = nullptr;  // null: always
};

// Compiles a graph whose places and shapes are known.
std::shared_ptr<const Program> compile_placed(Graph graph, const CompileOptions& options);

// The stages, in the order of the list that describes them.
namespace stage {

// graph_stages.cpp
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
// step_stages.cpp
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
// place_values.cpp
void place_values(Compilation& c);
void find_taken_inputs(Compilation& c);
// program_reports.cpp
void count_pieces(Compilation& c);
void report_steps(Compilation& c);
void report_values(Compilation& c);
void report_options(Compilation& c);

}  // namespace stage
}  // namespace mge
