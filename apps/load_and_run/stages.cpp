// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/stages.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/cli/files/array_file.h"
#include "apps/cli/output/table.h"
#include "apps/cli/output/terminal.h"
#include "apps/load_and_run/affinity.h"
#include "apps/load_and_run/inputs/inputs.h"
#include "apps/load_and_run/measure/turns.h"
#include "apps/load_and_run/report.h"
#include "libmge/base/files/file.h"
#include "libmge/base/log.h"
#include "libmge/base/unique_names.h"
#include "libmge/device/device.h"
#include "libmge/model/pack.h"
#include "libmge/op/operator_library.h"

namespace mge::load_and_run {
namespace {

std::vector<std::pair<std::string, Tensor>> collect_outputs(const Test& test) {
    std::vector<std::pair<std::string, Tensor>> outputs;
    UniqueNames names;
    for (size_t i = 0; i < test.program->outputs().size(); ++i) {
        std::string name = test.program->outputs()[i].name;
        if (name.empty()) name = "output";
        outputs.emplace_back(names.unique(name), to_host(test.context->copy_output(i)));
    }
    return outputs;
}

// Scripts written for MegEngine's tool look for this line on stderr.
void print_finished(size_t index, const cli::Statistics& s, size_t runs) {
    auto ms = [](double time) { return cli::format_milliseconds(time, 3); };
    cli::print_note(text("=== finished test #", index, ": time=", ms(s.mean * double(runs)),
                         " avg_time=", ms(s.mean), " standard_deviation=", ms(s.deviation),
                         " min=", ms(s.min), " max=", ms(s.max)));
}

double samples_per_run(const Tensors& inputs) {
    return inputs.empty() || inputs[0].shape().rank() == 0 ? 1 : double(inputs[0].shape()[0]);
}

void judge(Job& job, const TestCaseResult& result) {
    if (result.mismatches.empty()) return;
    std::string message = text("test case '", result.name, "' of '", job.options.run.model.path,
                               "' differs from its stored outputs");
    if (job.options.output.disable_assert_throw)
        cli::print_note("load_and_run: " + message);
    else
        job.fail(ErrorCode::accuracy, message);
}

// Writes the model with the options of its first test's program.
void write_with_options(Job& job, const std::string& path) {
    Model model = job.session->model();
    store_options(model, job.session->requested(), *job.tests.at(0).program);
    write_model(path, model);
}

// Copies the original file, regardless of changes to the graph.
void write_packed(Job& job) {
    auto& o = job.options.output;
    PackOptions pack;
    if (!o.pack_info_json.empty()) pack.info = read_text(o.pack_info_json);
    pack.cache = o.pack_cache.empty() ? job.session->cache_path() : o.pack_cache;
    pack.info_cipher = o.pack_info_cryption;
    pack.model_cipher = o.pack_model_cryption;
    pack.key = cli::key_provider(job.options.run.model.keys.key);
    pack_model(job.options.run.model.path, o.packed_model_dump, pack);
    job.report["packed_model_dump"] = o.packed_model_dump;
}

}  // namespace

void Job::ignore_option(const std::string& option, const std::string& reason) {
    log_warning(text("load_and_run: ", option, " has no effect: ", reason));
    options_without_effect.push_back(option);
}

void choose_device(Job& job) {
    (void)job.options.device.place();  // or an error before anything is read
    set_threads(job.options);
}

// The model, and the model it is compared with, may use their operators and devices.
void load_libraries(Job& job) {
    auto& libraries = job.options.run.model.operators;
    if (job.options.output.operator_library_with_param) {
        if (libraries.paths.empty()) throw_value_error("--c-opr-lib-with-param", "needs --c-opr-lib FILE.so");
        job.ignore_option("--c-opr-lib-with-param", "the model holds the parameters of its operators");
    }
    cli::load(libraries);
    for (auto* library : added_libraries()) {
        auto& names = job.report["operator_libraries"][library->name] = cli::Json::array();
        for (auto* op : library->ops) names.push_back(op->name);
    }
}

void load_model(Job& job) {
    job.session = std::make_unique<Session>(job.options);
    job.session->check_with(job.checks.get());
    job.checks->memory.loaded();
    job.tests = make_tests(job.session->model(), job.options.input);
    check_turns(job);
    job.checks->memory.fed(job.tests);
    job.results.resize(job.tests.size());
}

void compile(Job& job, Test& test) {
    job.session->prepare(test);
    if (job.options.output.model_info && test.index == 0) print_model_info(test);
}

void run_first(Job& job, Test& test) {
    job.session->first_run(test);
    job.results[test.index].outputs = collect_outputs(test);
}

void compare(Job& job, Test& test) {
    auto& result = job.results[test.index].comparison;
    result = compare_with_expected(test);
    judge(job, result);
}

void time_runs(Job& job, Test& test) {
    if (job.options.run.serve_rounds) return;
    auto& result = job.results[test.index];
    result.measured = measure(*job.session, test, job.options);
    auto& times = result.measured.times;
    result.latency = cli::summarize(times);
    double samples = samples_per_run(test.inputs);
    bool is_alone = job.options.run.streams == 1 && job.options.run.loads == 1 && job.options.run.rate == 0;
    if (is_alone && result.latency.mean > 0)
        result.throughput_per_s = samples * 1000 / result.latency.mean;
    else if (result.measured.seconds > 0)
        result.throughput_per_s = samples * double(times.size()) / result.measured.seconds;
    if (!job.invocation.quiet) print_finished(test.index, result.latency, times.size());
}

// With user-supplied inputs, the model's test cases were not among the tests.
void check_stored_test_cases(Job& job) {
    if (job.options.input.are_of_model()) return;
    for (auto& stored : job.session->model().test_cases) {
        Test test;
        test.name = stored.name;
        test.inputs = stored.inputs;
        test.expected = stored.outputs;
        test.max_error = stored.max_error;
        job.session->prepare(test);
        job.session->first_run(test);
        job.stored_test_cases.push_back(compare_with_expected(test));
        judge(job, job.stored_test_cases.back());
    }
}

void write_outputs(Job& job) {
    auto& o = job.options.output;
    if (!o.dump_outputs.empty()) cli::write_npz(o.dump_outputs, job.results.at(0).outputs);
    // First, because the others may replace the original file.
    if (!o.packed_model_dump.empty()) write_packed(job);
    auto& fitted = job.options.run.dump_fitting_model;
    auto& transformed = job.options.graph.layout_transform_dump;
    for (auto& path : {fitted, transformed})
        if (!path.empty()) write_with_options(job, path);
    if (!fitted.empty()) job.report["dump_fitting_model"] = fitted;
    if (!transformed.empty()) job.report["layout_transform_dump"] = transformed;
    if (!o.model_dump.empty()) {
        write_model(o.model_dump, job.session->model());
        job.report["model_dump"] = o.model_dump;
    }
}

}  // namespace mge::load_and_run
