// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libmge/compile/program.h"
#include "libmge/model/model.h"

namespace mge::load_and_run {

// Values for all inputs of the model: a test case of its file, or inputs from the command line. Every test is
// compiled for its shapes, run, compared and timed.
struct Test {
    size_t index = 0;
    std::string name;
    Tensors inputs;
    bool has_random_input = false;
    Tensors expected;                   // expected outputs from the model's file; empty: unknown
    std::optional<double> max_error{};  // largest error in the model's test case
    std::shared_ptr<const Program> program;
    std::unique_ptr<Context> context;
    double compile_ms = 0, prepare_ms = 0, fake_run_ms = 0, first_run_ms = 0;
};

}  // namespace mge::load_and_run
