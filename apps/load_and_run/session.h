// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "apps/load_and_run/checks/checks.h"
#include "apps/load_and_run/lite_session.h"
#include "apps/load_and_run/options/options.h"
#include "apps/load_and_run/test.h"
#include "libmge/compile/memory/remember_constants.h"
#include "libmge/kernel/fastrun_cache.h"
#include "libmge/model/stored_options.h"

namespace mge::load_and_run {

// A loaded model and how it is compiled.
class Session {
public:
    explicit Session(const Options& options);

    const Model& model() const { return model_; }
    // Options of the programs, for compiling others to compare with.
    const CompileOptions& compile_options() const { return compile_options_; }
    // As requested by flags or the model. The first run's check has a separate run, so that it does not count
    // in the first run's time, and memory for outputs is given here.
    const CompileOptions& requested() const { return requested_; }
    // From now on compilations are checked; null: no longer.
    void check_with(Checks* checks) { checks_ = checks; }

    // Path of the fast-run cache in use; empty without one.
    std::string cache_path() const { return cache_ ? cache_->path() : ""; }

    // From now on everything is compiled with these options, regardless of the model.
    void use(const CompileOptions& options);
    // This program was compiled with these options and is used for tests of its shapes. Compiling again could
    // choose differently, because measured times vary.
    void use(const CompileOptions& options, std::shared_ptr<const Program> program);
    // How the options in the model's file were used: "none", "used", or "overridden" by flags.
    const std::string& fate_of_stored_options() const { return stored_fate_; }

    // Compiles for the test's shapes (only if they differ from the last test's) and makes a context with its
    // inputs.
    void prepare(Test& test);
    // Runs the test for the first time; with --fake-first after a run that computes nothing.
    void first_run(Test& test);
    // A further context of the test's program with its inputs.
    std::unique_ptr<Context> make_context(const Test& test) const;

    // Result of --optimize-for-inference.
    struct Optimized {
        double milliseconds = 0;
        size_t nodes_before = 0, nodes_after = 0;
    };
    Optimized optimized;

    double load_ms = 0;
    double read_ms =
        0;  // the part until the file's bytes were in memory; only with --startup or --share-param-mem

private:
    void open_cache();
    void load();
    void optimize();
    void take_stored_options();
    std::shared_ptr<const Program> compile(const TensorSpecs& inputs);
    std::vector<std::string> input_names() const;
    void require_known_shapes(const TensorSpecs& inputs) const;
    std::shared_ptr<const Program> program_for(const TensorSpecs& inputs);
    bool binds_outputs() const { return requested_.force_output_use_user_specified_memory; }

    const Options& options_;
    Model model_;
    std::unique_ptr<FastrunCache> cache_;
    std::unique_ptr<LiteSession> lite_;  // with --lite, which loads, compiles and runs
    CompileOptions requested_, compile_options_;
    std::optional<StoredOptions> stored_;
    std::string stored_fate_ = "none";
    Checks* checks_ = nullptr;
    std::shared_ptr<const Program> program_;  // the last one
    std::shared_ptr<const ConstantPrints> prints_;
    mutable std::mutex outputs_mutex_;
    mutable Tensors outputs_;  // memory of outputs, where contexts are given it
};

}  // namespace mge::load_and_run
