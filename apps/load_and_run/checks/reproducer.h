// SPDX-License-Identifier: Apache-2.0
#pragma once
// --write-reproducer: the smallest part of a model that differs from the reference.

#include <optional>
#include <string>
#include <vector>

#include "apps/load_and_run/checks/comparison.h"

namespace mge::load_and_run {

struct Reproducer {
    std::string path;
    std::vector<std::string> operators;  // the model's operators in the part
    std::vector<std::string> inputs, outputs;
    bool shows_difference = false;  // the part alone differs from its stored outputs
};

// Writes a model with a test case: the operators of the step that differs by itself, with the reference's
// inputs and outputs, and the compile options of the subject. Where that alone shows no difference, the part
// grows to all suspects, then to all steps from the first difference on, then to the whole model. Nullopt if
// nothing differs.
std::optional<Reproducer> write_reproducer(const std::string& path, const CheckOptions& checks,
                                           const Subject& subject, const WalkedDifference& walked);

void print(const Reproducer& reproducer);
cli::Json to_json(const Reproducer& reproducer);

}  // namespace mge::load_and_run
