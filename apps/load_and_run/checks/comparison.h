// SPDX-License-Identifier: Apache-2.0
#pragma once
// --compare, --compare-with, --first-diff: against files of values, other models, other ways to compile.

#include <memory>
#include <string>
#include <vector>

#include "apps/cli/tool.h"
#include "apps/load_and_run/checks/options.h"
#include "libmge/compile/program.h"
#include "libmge/inspect/first_difference.h"
#include "libmge/model/model.h"

namespace mge::load_and_run {

// The subject of a comparison: a model, its compile options, and its inputs.
struct Subject {
    const Model& model;
    const CompileOptions& options;
    const Tensors& inputs;
    const cli::ModelKeys& keys;  // keys of the model's file
};

struct ComparedValue {
    std::string name;
    TensorSpec spec;
    Comparison comparison;
};
struct ComparedRun {
    std::string reference;
    Tolerance tolerance;
    size_t comparable = 0;  // values that the reference has
    std::vector<ComparedValue> values;
    // Values that only one of the two has.
    std::vector<std::string> only_in_reference, only_here;

    const ComparedValue* first_failed() const;
};

// Options of --compare-with on top of the present ones: "reference,threads=1". UserError for an unknown word.
CompileOptions compile_variant(const std::string& how, CompileOptions options);

// Compares the values of a run of `context` with the reference (a second run computes values inside the model
// if requested). UserError if they have no values in common.
ComparedRun compare_run(const CheckOptions& checks, const Subject& subject,
                        const std::shared_ptr<const Program>& program, Context& context);

struct WalkedDifference {
    std::string reference;
    Tolerance tolerance;
    FirstDifference result;
};
WalkedDifference walk_to_first_difference(const CheckOptions& checks, const Subject& subject);

// The reference's values of a graph that name_values() made of the subject's; null where it has none.
Tensors reference_values(const CheckOptions& checks, const Subject& subject, const Graph& graph,
                         const std::vector<ValueId>& wanted);

// Before anything is timed: UserError when the model of --compare does not take the subject's inputs.
void check_reference(const CheckOptions& checks, const Subject& subject);

void print(const ComparedRun& run);
void print(const WalkedDifference& difference);
cli::Json to_json(const ComparedRun& run);
cli::Json to_json(const WalkedDifference& difference);
// A one-line summary; empty if there are no differences.
std::string failure(const ComparedRun& run);
std::string failure(const WalkedDifference& difference);

}  // namespace mge::load_and_run
