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

// What is compared: a model, how it is compiled, and its inputs.
struct Subject {
    const Model& model;
    const CompileOptions& options;
    const Tensors& inputs;
    const cli::ModelKeys& keys;  // of the model's file
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
    // What the reference and the model do not have in common.
    std::vector<std::string> only_in_reference, only_here;

    const ComparedValue* first_failed() const;
};

// Options of --compare-with on top of the present ones: "reference,threads=1". UserError names a word that is
// not known.
CompileOptions compile_variant(const std::string& how, CompileOptions options);

// Values of a run of `context` (it runs once more when values inside the model are asked for) against the
// reference. UserError when they have nothing in common.
ComparedRun compare_run(const CheckOptions& checks, const Subject& subject,
                        const std::shared_ptr<const Program>& program, Context& context);

struct WalkedDifference {
    std::string reference;
    Tolerance tolerance;
    FirstDifference result;
};
WalkedDifference walk_to_first_difference(const CheckOptions& checks, const Subject& subject);

// Before anything is timed: UserError when the model of --compare does not take the subject's inputs.
void check_reference(const CheckOptions& checks, const Subject& subject);

void print(const ComparedRun& run);
void print(const WalkedDifference& difference);
cli::Json to_json(const ComparedRun& run);
cli::Json to_json(const WalkedDifference& difference);
// One line for people; empty when nothing differs.
std::string failure(const ComparedRun& run);
std::string failure(const WalkedDifference& difference);

}  // namespace mge::load_and_run
