// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/sweep.h"

#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/cli/output/commit.h"
#include "apps/cli/output/table.h"
#include "apps/load_and_run/options/compile_flags.h"
#include "apps/load_and_run/rows.h"
#include "libmge/base/files/file.h"
#include "libmge/base/threads/threads.h"
#include "libmge/base/utc_time.h"
#include "libmge/base/version.h"
#include "libmge/device/cpu/cpu_device.h"
#include "libmge/device/device.h"

namespace mge::load_and_run {
namespace {

using cli::Json;

// A row with all fields of the combination, and null for what is measured.
Json empty_row(const Options& options) {
    Json row = Json::object();
    for (auto& field : row_fields()) row[field.name] = nullptr;
    auto& batches = options.input.batch_sizes;
    row["date"] = utc_now();
    row["version"] = mge::version;
    row["build_commit"] = cli::commit_id();
    row["cpu"] = cpu_model();
    row["isa"] = name_of(cpu_isa());
    row["cpus"] = usable_cpus();
    row["device"] = physical_name(options.device.place());
    row["model"] = options.run.model.path;
    if (!batches.empty()) row["batch"] = batches[0];
    row["threads"] = default_threads();
    row["streams"] = options.run.streams;
    row["precision"] = precision_of(options.graph.compile);
    return row;
}

Json batch_of(const Test& test) {
    bool has_batch = !test.inputs.empty() && test.inputs[0].shape().rank() > 0;
    return has_batch ? Json(test.inputs[0].shape()[0]) : Json();
}

// The name without the batch size, which is a field of its own.
std::string name_of_test(const Job& job, const Test& test) {
    auto& batches = job.options.input.batch_sizes;
    std::string suffix = batches.empty() ? "" : text("batch ", batches[0]), name = test.name;
    if (!name.ends_with(suffix)) return name;
    name.resize(name.size() - suffix.size());
    if (name.ends_with(' ')) name.pop_back();
    return name;
}

Json row_of(const Job& job, const Test& test) {
    Json row = empty_row(job.options);
    auto& r = job.results[test.index];
    auto m = test.program->memory();
    row["test"] = name_of_test(job, test);
    row["batch"] = batch_of(test);
    row["runs"] = r.measured.times.size();
    row["load_ms"] = job.session->load_ms;
    row["compile_ms"] = test.compile_ms + test.prepare_ms;
    row["first_run_ms"] = test.first_run_ms;
    row["min_ms"] = r.latency.min;
    row["mean_ms"] = r.latency.mean;
    row["p50_ms"] = r.latency.p50;
    row["p90_ms"] = r.latency.p90;
    row["p99_ms"] = r.latency.p99;
    row["max_ms"] = r.latency.max;
    row["throughput_per_s"] = r.throughput_per_s;
    if (r.measured.no_energy.empty() && !r.measured.times.empty())
        row["joules_per_run"] = r.measured.joules / double(r.measured.times.size());
    row["memory_bytes"] = m.weights + m.made_weights + m.packed_weights + m.plan + m.inputs_outputs;
    if (!r.comparison.mismatches.empty()) row["error"] = text("test case '", test.name, "' differs");
    return row;
}

class Sweep {
public:
    Sweep(cli::Invocation& invocation, const Options& options, void (*run_stages)(Job& job))
        : invocation_(invocation), options_(options), quiet_(invocation), run_stages_(run_stages) {
        quiet_.quiet = true;
        if (is_streamed() && invocation.json == "-")
            throw cli::UsageError("the report and the rows cannot both go to stdout", "give --json a file");
        if (is_streamed()) cli::require_stdout();
    }

    int run() {
        auto all = combinations(options_);
        for (auto& model : options_.sweep.models) (void)MappedFile::open(model);  // a wrong path ends it here
        print([&](std::ostream& stream) { write_heading(stream, options_.sweep.format); });
        cli::Progress progress("sweep", all.size());
        const int threads = default_threads();
        for (auto& each : all) {
            // The last combination has set its own.
            set_default_threads(threads);
            run(each);
            progress.advance();
        }
        show();
        return finish();
    }

private:
    bool is_streamed() const { return !options_.sweep.format.empty(); }

    void print(const std::function<void(std::ostream&)>& write) {
        if (is_streamed()) cli::write_output(quiet_, "-", write);
    }

    void add(Json row) {
        print([&](std::ostream& stream) { write_row(stream, options_.sweep.format, row); });
        rows_.push_back(std::move(row));
    }

    void run(const Options& options) {
        Json report = Json::object();
        try {
            Job job{quiet_, options, report};
            run_stages_(job);
            for (auto& test : job.tests) add(row_of(job, test));
            if (job.failure) fail(options, job.failure->code, job.failure->message);
        } catch (const Error& e) {
            Json row = empty_row(options);
            row["error"] = e.what();
            add(std::move(row));
            fail(options, e.code(), e.what());
        }
    }

    void fail(const Options& options, ErrorCode code, const std::string& message) {
        ++failed_;
        if (!failure_) failure_ = Failure{code, text("'", options.run.model.path, "': ", message)};
    }

    void show() const {
        if (options_.sweep.format == "md")
            return cli::write_output(
                quiet_, "-", [&](std::ostream& stream) { write_markdown(stream, table_of(rows_, false)); });
        if (is_streamed()) return;
        std::cout << cpu_model() << ", " << name_of(cpu_isa()) << ", "
                  << cli::counted(size_t(usable_cpus()), "CPU") << "; load_and_run " << mge::version
                  << cli::commit_text() << '\n';
        cli::print_table(std::cout, table_of(rows_, true), {"J/run", "min ms", "p99 ms"});
    }

    int finish() const {
        Json result{{"sweep", {{"rows", rows_}, {"failed", failed_}}}};
        if (!failure_) return cli::finish(invocation_, result);
        std::string message =
            failed_ > 1 ? text(failed_, " runs failed, the first: ", failure_->message) : failure_->message;
        return cli::finish(invocation_, result, failure_->code, message);
    }

    cli::Invocation& invocation_;
    const Options& options_;
    cli::Invocation quiet_;  // for the jobs, which print nothing by themselves
    void (*run_stages_)(Job& job);
    std::vector<Json> rows_;
    std::optional<Failure> failure_;
    size_t failed_ = 0;
};

}  // namespace

int run_sweep(cli::Invocation& invocation, const Options& options, void (*run_stages)(Job& job)) {
    return Sweep(invocation, options, run_stages).run();
}

}  // namespace mge::load_and_run
