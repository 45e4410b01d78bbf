// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/report.h"

#include <sys/resource.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/cli/table.h"
#include "libmge/device/cpu/cpu_device.h"
#include "libmge/device/device.h"
#include "libmge/op/apply.h"

namespace mge::load_and_run {
namespace {

using cli::format_bytes;
using cli::format_number;
using cli::Json;

// Above this coefficient of variation the mean says little.
constexpr double unstable_cv = 0.1;
constexpr int64_t printed_elements = 10;

size_t peak_resident_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return size_t(usage.ru_maxrss) * 1024;
}

std::string value_text(const Tensor& tensor) {
    Tensor real = convert_dtype(tensor, DType::f32);
    std::string result;
    int64_t n = real.spec().numel();
    for (int64_t i = 0; i < std::min(n, printed_elements); ++i)
        result += text(i ? " " : "", real.data<float>()[i]);
    return n > printed_elements ? result + " ..." : result;
}

void print_ports(const Session& session, std::vector<std::vector<std::string>>& rows) {
    for (auto& port : session.program().inputs())
        rows.push_back({"INPUT", port.name, text(port.spec.shape), text(port.spec.dtype)});
    for (auto& port : session.program().outputs())
        rows.push_back({"OUTPUT", port.name, text(port.spec.shape), text(port.spec.dtype)});
}

void print_algorithms(const Session& session) {
    std::vector<std::vector<std::string>> rows{
        {"step", "operator", "name", "algorithm", "source", "measured ms", "workspace"}};
    size_t index = 0;
    for (auto& step : session.program().steps())
        rows.push_back({std::to_string(index++), step.op, step.name, step.algorithm,
                        std::string(name_of(step.source)),
                        step.milliseconds > 0 ? format_number(step.milliseconds, 4) : "-",
                        format_bytes(double(step.workspace))});
    std::cout << "\nAlgorithms\n";
    cli::print_table(std::cout, rows);
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

void print_summary(const Session& session, const Results& r) {
    std::cout << "\nPerformance summary (" << cpu_model() << ", " << name_of(cpu_isa()) << ", "
              << default_threads() << " threads)\n";
    cli::print_table(std::cout, {{"load", format_number(session.load_ms, 3) + " ms"},
                                 {"compile", format_number(session.compile_ms, 3) + " ms"},
                                 {"first run", format_number(session.first_run_ms, 3) + " ms"}});
    auto& l = r.latency;
    std::cout << "latency of " << r.runs << " runs, ms: min = " << format_number(l.min, 4)
              << ", mean = " << format_number(l.mean, 4) << ", median = " << format_number(l.p50, 4)
              << ", percentile(90%) = " << format_number(l.p90, 4)
              << ", percentile(99%) = " << format_number(l.p99, 4) << ", max = " << format_number(l.max, 4)
              << ", cv = " << format_number(100 * l.cv, 1) << " %\n";
    std::cout << "throughput: " << format_number(r.throughput_per_s, 1) << " samples/s\n";
    if (l.cv > unstable_cv)
        std::cout << "warning: times vary by " << format_number(100 * l.cv, 0)
                  << " %: the machine is busy or the runs are few; try --duration 3\n";
}

void print_memory(const Session& session) {
    MemoryReport m = session.program().memory();
    std::cout << "memory: weights " << format_bytes(double(m.weights)) << ", packed weights "
              << format_bytes(double(m.packed_weights)) << ", plan " << format_bytes(double(m.plan))
              << " (lower bound " << format_bytes(double(m.plan_lower_bound)) << "), inputs and outputs "
              << format_bytes(double(m.inputs_outputs)) << ", process peak "
              << format_bytes(double(peak_resident_bytes())) << '\n';
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

Json memory_json(const Session& session) {
    MemoryReport m = session.program().memory();
    return {{"weights", m.weights},
            {"packed_weights", m.packed_weights},
            {"plan", m.plan},
            {"plan_lower_bound", m.plan_lower_bound},
            {"inputs_outputs", m.inputs_outputs},
            {"allocated_peak", device({}).memory().peak},
            {"process_peak", peak_resident_bytes()}};
}

// Readers of the first reports look for these fields at the top level; new fields stand in the result only.
constexpr const char* top_level_fields[] = {"model",      "load_ms",    "compile_ms",       "first_run_ms",
                                            "runs",       "latency_ms", "throughput_per_s", "memory_bytes",
                                            "algorithms", "testcases",  "outputs"};

Json with_envelope(const Json& result, const cli::Invocation& invocation) {
    Json report = cli::make_report(invocation);
    for (auto* field : top_level_fields)
        if (result.contains(field)) report[field] = result[field];
    report["result"] = result;
    return report;
}

}  // namespace

void print_model_info(const Session& session) {
    std::vector<std::vector<std::string>> rows{{"type", "name", "shape", "dtype"}};
    print_ports(session, rows);
    std::cout << "Runtime Model Info\n";
    cli::print_table(std::cout, rows);
    std::cout << '\n';
}

void print_results(const Session& session, const Results& results, const Options& options) {
    print_test_cases(results.test_cases);
    for (auto& [name, tensor] : results.outputs)
        std::cout << "output '" << name << "' " << tensor.spec() << ": " << value_text(tensor) << '\n';
    if (options.verbose) print_algorithms(session);
    print_summary(session, results);
    print_memory(session);
}

cli::Json to_json(const Session& session, const Results& r, const cli::Invocation& invocation,
                  const Options& options) {
    Json report;
    report["model"] = options.model;
    report["load_ms"] = session.load_ms;
    report["compile_ms"] = session.compile_ms;
    report["first_run_ms"] = session.first_run_ms;
    auto& l = r.latency;
    report["runs"] = r.runs;
    report["latency_ms"] = {{"min", l.min}, {"mean", l.mean}, {"p50", l.p50}, {"p90", l.p90},
                            {"p99", l.p99}, {"max", l.max},   {"cv", l.cv}};
    report["throughput_per_s"] = r.throughput_per_s;
    report["memory_bytes"] = memory_json(session);
    report["algorithms"] = Json::array();
    for (auto& step : session.program().steps())
        report["algorithms"].push_back({{"op", step.op},
                                        {"name", step.name},
                                        {"algorithm", step.algorithm},
                                        {"source", name_of(step.source)},
                                        {"measured_ms", step.milliseconds},
                                        {"workspace", step.workspace}});
    report["testcases"] = test_cases_json(r.test_cases);
    report["outputs"] = Json::array();
    for (auto& [name, tensor] : r.outputs)
        report["outputs"].push_back(
            {{"name", name}, {"dtype", name_of(tensor.dtype())}, {"shape", tensor.shape().dims()}});
    return with_envelope(report, invocation);
}

}  // namespace mge::load_and_run
