// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apps/load_and_run/options.h"
#include "libmge/compile/program.h"
#include "libmge/kernel/fastrun_cache.h"
#include "libmge/model/model.h"

namespace mge::load_and_run {

// One output of one test case against what the model says it should be.
struct Mismatch {
    std::string output;
    int64_t index = -1;  // flat; -1: another dtype or shape
    std::string got, expected;
    int64_t count = 0;  // how many elements differ
};
struct TestCaseResult {
    std::string name;
    bool compared = false;
    double largest_error = 0;
    std::vector<Mismatch> mismatches;
};

// A loaded model and everything measured of it.
class Session {
public:
    explicit Session(const Options& options);

    const Model& model() const { return model_; }
    const Program& program() const { return *program_; }
    // Compiles for these inputs and runs once.
    void start(const Tensors& inputs);
    std::vector<TestCaseResult> check_test_cases();
    // Milliseconds of each timed run.
    std::vector<double> measure();
    Tensor output(size_t i) { return context_->copy_output(i); }

    double load_ms = 0, compile_ms = 0, first_run_ms = 0;

private:
    // The program at hand when the specs are its own: compiling packs the weights, which takes seconds for a
    // large net.
    std::shared_ptr<const Program> program_for(const TensorSpecs& inputs);
    static std::unique_ptr<Context> make_context(std::shared_ptr<const Program> program,
                                                 const Tensors& inputs);

    const Options& options_;
    Model model_;
    std::unique_ptr<FastrunCache> cache_;
    CompileOptions compile_options_;
    std::shared_ptr<const Program> program_;
    std::unique_ptr<Context> context_;
};

}  // namespace mge::load_and_run
