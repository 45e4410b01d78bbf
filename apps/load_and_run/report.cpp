// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/cli/output/table.h"
#include "apps/load_and_run/affinity.h"
#include "apps/load_and_run/compile_options.h"
#include "libmge/device/cpu/cpu_device.h"
#include "libmge/device/device.h"
#include "libmge/inspect/memory.h"
#include "libmge/op/apply.h"

namespace mge::load_and_run {
namespace {

using cli::format_bytes;
using cli::format_number;
using cli::Json;

// Above this coefficient of variation the mean is not meaningful.
constexpr double unstable_cv = 0.1;
constexpr int64_t printed_elements = 10;

std::string value_text(const Tensor& tensor) {
    Tensor real = convert_dtype(tensor, DType::f32);
    std::string result;
    int64_t n = real.spec().numel();
    for (int64_t i = 0; i < std::min(n, printed_elements); ++i)
        result += text(i ? " " : "", real.data<float>()[i]);
    return n > printed_elements ? result + " ..." : result;
}

void print_ports(const Program& program, std::vector<std::vector<std::string>>& rows) {
    for (auto& port : program.inputs())
        rows.push_back(
            {"INPUT", port.name, named_shape_text(port.spec.shape, port.dimensions), text(port.spec.dtype)});
    for (auto& port : program.outputs())
        rows.push_back({"OUTPUT", port.name, text(port.spec.shape), text(port.spec.dtype)});
}

void print_algorithms(const Program& program) {
    std::vector<std::vector<std::string>> rows{
        {"step", "operator", "name", "algorithm", "source", "measured ms", "workspace"}};
    size_t index = 0;
    for (auto& step : program.steps())
        rows.push_back({std::to_string(index++), step.op, step.name, step.algorithm,
                        std::string(name_of(step.source)),
                        step.milliseconds > 0 ? format_number(step.milliseconds, 4) : "-",
                        format_bytes(double(step.workspace))});
    std::cout << "\nAlgorithms\n";
    cli::print_table(std::cout, rows, {"workspace", "source", "measured ms", "operator"});
}

void print_test_cases(const std::vector<TestCaseResult>& results) {
    for (size_t i = 0; i < results.size(); ++i) {
        auto& r = results[i];
        std::cout << "test case " << i << (r.name.empty() ? "" : " (" + r.name + ")") << ": "
                  << (!r.compared            ? "ran; it has no outputs to compare with"
                      : r.mismatches.empty() ? text("passed, largest error ", r.largest_error)
                                             : "DIFFERS")
                  << '\n';
        for (auto& m : r.mismatches) {
            if (m.index < 0)
                std::cout << "  output '" << m.output << "' is " << m.got << ", expected " << m.expected
                          << '\n';
            else
                std::cout << "  output '" << m.output << "' element " << m.index << " is " << m.got
                          << ", expected " << m.expected << " (" << m.count << " differ)\n";
        }
    }
}

void print_start(const Job& job, const Test& test) {
    std::cout << "\nPerformance summary (" << cpu_model() << ", " << name_of(cpu_isa()) << ", "
              << cli::counted(size_t(default_threads()), "thread") << ")\n";
    auto ms = [](double value) { return cli::format_milliseconds(value, 3, " "); };
    double load = job.session->load_ms, read = job.session->read_ms;
    if (job.options.run.startup)
        cli::print_table(std::cout, {{"read", ms(read)},
                                     {"verify", ms(load - read)},
                                     {"compile", ms(test.compile_ms)},
                                     {"prepare", ms(test.prepare_ms)},
                                     {"first run", ms(test.first_run_ms)}});
    else
        cli::print_table(std::cout, {{"load", ms(load)},
                                     {"compile", ms(test.compile_ms + test.prepare_ms)},
                                     {"first run", test.first_run_ms > 0 ? ms(test.first_run_ms) : "-"}});
}

// All digits that were given.
std::string digits(double percent) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.12g", percent);
    return buffer;
}
std::string percent_text(double percent) { return text("percentile(", digits(percent), "%)"); }

void print_queue(const Job& job, const Measured& measured) {
    cli::Statistics waits = cli::summarize(measured.waits);
    std::cout << "waiting in the queue, ms: mean = " << format_number(waits.mean, 4)
              << ", median = " << format_number(waits.p50, 4) << ", max = " << format_number(waits.max, 4)
              << '\n';
    auto runs = double(measured.times.size());
    double rate = runs / measured.seconds, by_chance = 3 / std::sqrt(runs);  // rates of random arrivals
    if (rate < (1 - std::max(0.1, by_chance)) * job.options.run.rate)
        std::cout << "warning: " << format_number(rate, 1) << " runs per second are fewer than --rate "
                  << job.options.run.rate
                  << ": the queue and the latency grow for as long as the run lasts\n";
}

void print_times(const Job& job, const Test& test) {
    auto& r = job.results[test.index];
    auto& l = r.latency;
    if (r.measured.times.empty()) return;  // a check ended the runs before
    if (job.tests.size() > 1)
        std::cout << "test #" << test.index << (test.name.empty() ? "" : " (" + test.name + ")") << ": ";
    constexpr double ten_microseconds = 0.01;
    bool is_short = l.mean < ten_microseconds;
    auto number = [&](double ms) { return format_number(is_short ? 1000 * ms : ms, 4); };
    std::cout << "latency of " << cli::counted(r.measured.times.size(), "run") << (is_short ? ", µs" : ", ms")
              << ": min = " << number(l.min) << ", mean = " << number(l.mean)
              << ", median = " << number(l.p50);
    auto sorted = r.measured.times;
    std::ranges::sort(sorted);
    for (double percent : job.options.run.percentiles)
        if (percent != 50)
            std::cout << ", " << percent_text(percent) << " = "
                      << number(cli::percentile(sorted, percent / 100));
    std::cout << ", max = " << number(l.max) << ", cv = " << format_number(100 * l.cv, 1) << " %\n"
              << "throughput: " << format_number(r.throughput_per_s, 1) << " samples/s\n";
    if (r.measured.no_energy.empty() && r.measured.joules > 0)
        std::cout << "energy: " << format_number(r.measured.joules / double(r.measured.times.size()), 4)
                  << " J per run (all processor packages)\n";
    if (!r.measured.waits.empty())
        print_queue(job, r.measured);
    else if (l.cv > unstable_cv)
        std::cout << "warning: times vary by " << format_number(100 * l.cv, 0)
                  << " %: the machine is busy or the runs are few; try --duration 3\n";
}

void print_memory(const Program& program) {
    MemoryReport m = program.memory();
    std::cout << "memory: weights " << format_bytes(double(m.weights + m.made_weights)) << " (released "
              << format_bytes(double(m.released_weights)) << "), packed weights "
              << format_bytes(double(m.packed_weights)) << ", plan " << format_bytes(double(m.plan))
              << " (lower bound " << format_bytes(double(m.plan_lower_bound)) << "), inputs and outputs "
              << format_bytes(double(m.inputs_outputs)) << ", process peak "
              << format_bytes(double(process_memory().peak)) << '\n';
}

// The test cases of the model's file, whether they were the tests or not.
std::vector<TestCaseResult> test_cases_of(const Job& job) {
    std::vector<TestCaseResult> all = job.stored_test_cases;
    bool are_tests = job.options.input.are_of_model();
    if (are_tests && job.session && !job.session->model().test_cases.empty())
        for (auto& result : job.results) all.push_back(result.comparison);
    return all;
}

Json test_cases_json(const std::vector<TestCaseResult>& results) {
    Json list = Json::array();
    for (auto& r : results) {
        Json mismatches = Json::array();
        for (auto& m : r.mismatches)
            mismatches.push_back({{"output", m.output},
                                  {"index", m.index},
                                  {"got", m.got},
                                  {"expected", m.expected},
                                  {"count", m.count}});
        list.push_back({{"name", r.name},
                        {"compared", r.compared},
                        {"passed", r.mismatches.empty()},
                        {"largest_error", r.largest_error},
                        {"mismatches", mismatches}});
    }
    return list;
}

Json memory_json(const Program& program, size_t allocated_peak) {
    MemoryReport m = program.memory();
    return {{"weights", m.weights},
            {"constants", m.constants},
            {"released_weights", m.released_weights},
            {"made_weights", m.made_weights},
            {"packed_weights", m.packed_weights},
            {"program", m.program},
            {"plan", m.plan},
            {"plan_lower_bound", m.plan_lower_bound},
            {"inputs_outputs", m.inputs_outputs},
            {"allocated_peak", allocated_peak},
            {"process_peak", process_memory().peak}};
}

Json latency_json(const cli::Statistics& l) {
    return {{"min", l.min}, {"mean", l.mean}, {"p50", l.p50}, {"p90", l.p90},
            {"p99", l.p99}, {"max", l.max},   {"cv", l.cv}};
}

Json percentiles_json(const Job& job, std::vector<double> times) {
    std::ranges::sort(times);
    Json result = Json::object();
    for (double percent : job.options.run.percentiles)
        result['p' + digits(percent)] = times.empty() ? 0 : cli::percentile(times, percent / 100);
    return result;
}

// The layout of the step's first output.
std::string layout_of(const Program& program, const StepReport& step) {
    return program.values().at(size_t(step.outputs.at(0))).spec.layout.name();
}

// The model's operators that a step computes.
Json sources_of(const StepReport& step) {
    Json list = Json::array();
    for (auto& source : step.sources)
        list.push_back(source.name.empty() ? source.op : source.op + ' ' + source.name);
    return list;
}

Json algorithms_json(const Program& program) {
    Json list = Json::array();
    for (auto& step : program.steps())
        list.push_back({{"op", step.op},
                        {"name", step.name},
                        {"algorithm", step.algorithm},
                        {"dtype", name_of(program.values().at(size_t(step.outputs.at(0))).spec.dtype)},
                        {"compute", name_of(step.compute)},
                        {"source", name_of(step.source)},
                        {"measured_ms", step.milliseconds},
                        {"doubtful", step.is_doubtful},
                        {"workspace", step.workspace},
                        {"layout", layout_of(program, step)},
                        {"device", physical_name(step.device)},
                        {"thread", step.thread},
                        {"sources", sources_of(step)}});
    return list;
}

Json tensors_json(const std::vector<std::pair<std::string, Tensor>>& tensors) {
    Json list = Json::array();
    for (auto& [name, tensor] : tensors)
        list.push_back(
            {{"name", name}, {"dtype", name_of(tensor.dtype())}, {"shape", tensor.shape().dims()}});
    return list;
}

std::string device_name(const DeviceOptions& o) {
    if (o.cpu_default) return "cpu:default";
    return o.requested_name().empty() ? "cpu0" : physical_name(o.place());
}

// Fields for flags that appear nowhere else in the report.
void add_on_request(Job& job) {
    auto& o = job.options;
    std::string requested = o.device.requested_name();
    if (requested.empty()) requested = o.device.requests_cpu() ? "cpu" : "default";
    job.report["device"] = {{"asked", requested},
                            {"name", device_name(o.device)},
                            {"threads", default_threads()},
                            {"issued_by", o.device.runs_on_worker() ? "worker" : "caller"},
                            {"pinned_to", pinned_cpus(o)}};
    job.report["weights"] = o.run.share_param_mem ? "one buffer" : "mapped";
    job.report["seed"] = o.input.seed;
    job.report["copy_to_host"] = o.input.copy_to_host;
    job.report["crew"] = {{"streams", o.run.streams},
                          {"loads", o.run.loads},
                          {"rate", o.run.rate},
                          {"warmup_iterations", o.run.warmup_iterations},
                          {"model_cache", !o.algorithms.no_model_cache}};
    job.report["assertions_fail"] = !o.output.disable_assert_throw;
    if (!o.output.dump_outputs.empty()) job.report["dumped_outputs"] = o.output.dump_outputs;
    job.report["stored_options"] = job.session->fate_of_stored_options();
    if (o.run.wait_gdb) job.report["waited_for_debugger"] = true;
    if (o.output.model_info)
        job.report["model_info"] = {{"inputs", ports_json(job.tests[0].program->inputs())},
                                    {"outputs", ports_json(job.tests[0].program->outputs())}};
    if (o.graph.optimize_for_inference) {
        auto& done = job.session->optimized;
        job.report["optimize_for_inference"] = {{"milliseconds", done.milliseconds},
                                                {"nodes_before", done.nodes_before},
                                                {"nodes_after", done.nodes_after}};
    }
    if (job.session->requested().fake_next_exec) job.report["fake_run_ms"] = job.tests[0].fake_run_ms;
}

// Parts of the time from the file to the first result.
Json startup_json(const Job& job) {
    auto& test = job.tests.at(0);
    auto& s = *job.session;
    return {{"read_ms", s.read_ms},
            {"verify_ms", s.load_ms - s.read_ms},
            {"compile_ms", test.compile_ms},
            {"prepare_ms", test.prepare_ms},
            {"first_run_ms", test.first_run_ms},
            {"total_ms", s.load_ms + test.compile_ms + test.prepare_ms + test.first_run_ms}};
}

Json test_json(const Job& job, const Test& test) {
    auto& r = job.results[test.index];
    Json result{{"index", test.index},
                {"name", test.name},
                {"inputs", ports_json(test.program->inputs())},
                {"outputs", tensors_json(r.outputs)},
                {"compile_ms", test.compile_ms},
                {"prepare_ms", test.prepare_ms},
                {"first_run_ms", test.first_run_ms},
                {"runs", r.measured.times.size()},
                {"seconds", r.measured.seconds},
                {"latency_ms", latency_json(r.latency)},
                {"percentiles_ms", percentiles_json(job, r.measured.times)},
                {"throughput_per_s", r.throughput_per_s},
                {"times_ms", r.measured.times}};
    if (r.measured.no_energy.empty() && !r.measured.times.empty())
        result["energy"] = {{"joules_per_run", r.measured.joules / double(r.measured.times.size())}};
    else
        result["energy"] = {{"unavailable", r.measured.no_energy}};
    if (!r.measured.waits.empty()) {
        result["queue_ms"] = latency_json(cli::summarize(r.measured.waits));
        result["waits_ms"] = r.measured.waits;
    }
    if (!r.measured.load_ms.empty())
        result["loads"] = {{"load_ms", r.measured.load_ms}, {"compile_ms", r.measured.compile_ms}};
    return result;
}

Json replaced_json(const Program& program) {
    Json result = Json::array();
    for (auto& value : program.replaced()) result.push_back({{"name", value.name}, {"passes", value.passes}});
    return result;
}

// The fields that reports of schema 1 have had from the start; they are about the first test.
Json first_test_json(const Job& job) {
    auto& test = job.tests.at(0);
    auto& r = job.results.at(0);
    size_t allocated_peak = std::max(job.allocated_peak, device(job.options.device.place()).memory().peak);
    return {{"model", job.options.run.model.path},
            {"load_ms", job.session->load_ms},
            {"compile_ms", test.compile_ms + test.prepare_ms},
            {"first_run_ms", test.first_run_ms},
            {"runs", r.measured.times.size()},
            {"latency_ms", latency_json(r.latency)},
            {"throughput_per_s", r.throughput_per_s},
            {"memory_bytes", memory_json(*test.program, allocated_peak)},
            {"algorithms", algorithms_json(*test.program)},
            {"testcases", test_cases_json(test_cases_of(job))},
            {"outputs", tensors_json(r.outputs)}};
}

int write_report(Job& job) {
    Json report = cli::make_report(job.invocation);
    if (!job.is_done) {
        Json first = first_test_json(job);
        report.update(first);
        first.update(job.report);
        job.report = std::move(first);
        auto& run = job.options.run;
        job.report["interface"] = run.lite ? "lite" : run.mdl ? "mdl" : "default";
        job.report["options"] = to_json(job.session->requested());
        job.report["options_without_effect"] = job.options_without_effect;
        if (job.session->compile_options().level < 0)
            job.report["replaced_values"] = replaced_json(*job.tests.at(0).program);
        add_on_request(job);
        if (job.options.run.startup) job.report["startup"] = startup_json(job);
        job.report["tests"] = Json::array();
        for (auto& test : job.tests) job.report["tests"].push_back(test_json(job, test));
    }
    report["result"] = job.report;
    if (job.failure)
        return cli::finish_report(job.invocation, report, job.failure->code, job.failure->message);
    if (!job.invocation.json.empty()) cli::write_report(job.invocation, report);
    return 0;
}

}  // namespace

Json ports_json(const std::vector<PortInfo>& ports) {
    Json list = Json::array();
    for (auto& port : ports) {
        list.push_back({{"name", port.name},
                        {"dtype", name_of(port.spec.dtype)},
                        {"shape", port.spec.shape.is_known() ? Json(port.spec.shape.dims()) : Json()}});
        if (!port.dimensions.empty())
            list.back()["dimensions"] = cli::dimensions_json(port.spec.shape, port.dimensions);
    }
    return list;
}

void print_model_info(const Test& test) {
    std::vector<std::vector<std::string>> rows{{"type", "name", "shape", "dtype"}};
    print_ports(*test.program, rows);
    auto& stream = cli::requested_text();
    stream << "Runtime Model Info\n";
    cli::print_table(stream, rows);
    stream << '\n';
}

void print_results(Job& job) {
    print_test_cases(test_cases_of(job));
    auto& first = job.tests.at(0);
    for (auto& [name, tensor] : job.results.at(0).outputs)
        std::cout << "output '" << name << "' " << tensor.spec() << ": " << value_text(tensor) << '\n';
    if (job.invocation.verbose) print_algorithms(*first.program);
    print_start(job, first);
    for (auto& test : job.tests) print_times(job, test);
    print_memory(*first.program);
}

int run_and_report(cli::Invocation& invocation, const Options& options, Json found, void (*work)(Job& job)) {
    Job job{invocation, options, found};
    work(job);
    return write_report(job);
}

}  // namespace mge::load_and_run
