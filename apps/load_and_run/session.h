// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "apps/load_and_run/checks/checks.h"
#include "apps/load_and_run/lite_session.h"
#include "apps/load_and_run/options/options.h"
#include "apps/load_and_run/test.h"
#include "libmge/kernel/fastrun_cache.h"
#include "libmge/model/stored_options.h"

namespace mge::load_and_run {

// A loaded model and how it is compiled.
class Session {
public:
    explicit Session(const Options& options);

    const Model& model() const { return model_; }
    // How programs are compiled, to compare them with others too.
    const CompileOptions& compile_options() const { return compile_options_; }
    // As flags or the model ask for it. The first run's check is made in a run of its own, so that the first
    // run's time is not the check's, and memory for outputs is given here.
    const CompileOptions& asked() const { return asked_; }
    // From now on compilations are checked; null: no more.
    void check_with(Checks* checks) { checks_ = checks; }

    // Of the fast-run cache in use; empty: none.
    std::string cache_path() const { return cache_ ? cache_->path() : ""; }

    // From now on everything is compiled so, whatever the model says.
    void use(const CompileOptions& options);
    // This program was compiled so; it serves tests of its shapes. Compiling again could choose otherwise:
    // what is measured differs a little each time.
    void use(const CompileOptions& options, std::shared_ptr<const Program> program);
    // What became of the options in the model's file: "none", "used", or "overridden" by flags.
    const std::string& fate_of_stored_options() const { return stored_fate_; }

    // Compiles for the test's shapes (again only when they differ from the last test's) and makes a context
    // that holds its inputs.
    void prepare(Test& test);
    // Runs it for the first time; with --fake-first a run that computes nothing comes before.
    void first_run(Test& test);
    // A further context of the test's program with its inputs.
    std::unique_ptr<Context> make_context(const Test& test) const;

    // What --optimize-for-inference did.
    struct Optimized {
        double milliseconds = 0;
        size_t nodes_before = 0, nodes_after = 0;
    };
    Optimized optimized;

    double load_ms = 0;
    double read_ms =
        0;  // of that, until the file's bytes were in memory; only with --startup or --share-param-mem

private:
    void open_cache();
    void load();
    void optimize();
    void take_stored_options();
    std::shared_ptr<const Program> compile(const TensorSpecs& inputs);
    std::vector<std::string> input_names() const;
    void require_known_shapes(const TensorSpecs& inputs) const;
    std::shared_ptr<const Program> program_for(const TensorSpecs& inputs);
    bool binds_outputs() const { return asked_.force_output_use_user_specified_memory; }

    const Options& options_;
    Model model_;
    std::unique_ptr<FastrunCache> cache_;
    std::unique_ptr<LiteSession> lite_;  // with --lite, which loads, compiles and runs
    CompileOptions asked_, compile_options_;
    std::optional<StoredOptions> stored_;
    std::string stored_fate_ = "none";
    Checks* checks_ = nullptr;
    std::shared_ptr<const Program> program_;  // the last one
    mutable std::mutex outputs_mutex_;
    mutable Tensors outputs_;  // memory of outputs, where contexts are given it
};

}  // namespace mge::load_and_run
