// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "apps/cli/array_file.h"
#include "apps/load_and_run/inputs.h"
#include "apps/load_and_run/report.h"

namespace mge::load_and_run {
namespace {

std::vector<std::pair<std::string, Tensor>> collect_outputs(Session& session) {
    std::vector<std::pair<std::string, Tensor>> outputs;
    std::set<std::string> taken;
    for (size_t i = 0; i < session.program().outputs().size(); ++i) {
        std::string name = session.program().outputs()[i].name;
        if (name.empty()) name = "output";
        std::string unique = name;
        for (int n = 1; !taken.insert(unique).second; ++n) unique = text(name, '[', n, ']');
        outputs.emplace_back(unique, session.output(i));
    }
    return outputs;
}

// Scripts written for MegEngine's tool look for this line on stderr.
void print_finished(const cli::Statistics& s, size_t runs) {
    std::fprintf(
        stderr,
        "=== finished test #0: time=%.3fms avg_time=%.3fms standard_deviation=%.3fms min=%.3fms max=%.3fms\n",
        s.mean * double(runs), s.mean, s.deviation, s.min, s.max);
}

double samples_per_run(const Tensors& inputs) {
    return inputs.empty() || inputs[0].shape().rank() == 0 ? 1 : double(inputs[0].shape()[0]);
}

int run(cli::Invocation& invocation) {
    Options options = parse_options(invocation);
    Session session(options);
    Tensors inputs = prepare_inputs(session.model(), options);
    session.start(inputs);
    if (options.model_info) print_model_info(session);

    Results results;
    results.outputs = collect_outputs(session);
    results.test_cases = session.check_test_cases();
    auto times = session.measure();
    results.runs = times.size();
    results.latency = cli::summarize(std::move(times));
    if (results.latency.mean > 0)
        results.throughput_per_s = samples_per_run(inputs) * 1000 / results.latency.mean;
    print_finished(results.latency, results.runs);
    print_results(session, results, options);
    if (!options.dump_outputs.empty()) cli::write_npz(options.dump_outputs, results.outputs);
    auto report = to_json(session, results, invocation, options);
    for (auto& test : results.test_cases)
        if (!test.mismatches.empty())
            return cli::finish_report(
                invocation, report, ErrorCode::accuracy,
                text("test case '", test.name, "' of '", options.model, "' differs from its stored outputs"));
    if (!invocation.json.empty()) cli::write_report(invocation, report);
    return 0;
}

}  // namespace
}  // namespace mge::load_and_run

int main(int argc, char** argv) {
    return mge::cli::run_tool("load_and_run", argc, argv, mge::load_and_run::run);
}
