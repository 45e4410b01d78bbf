// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/measure/turns.h"

#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/cli/output/table.h"
#include "apps/load_and_run/measure/clock.h"

namespace mge::load_and_run {
namespace {

struct Turns {
    std::vector<double> switched, repeated;  // milliseconds: after another test, after the same one
};

double timed(Runner& runner) {
    auto start = Clock::now();
    runner.run();
    return milliseconds_since(start);
}

std::vector<Turns> run_turns(Job& job) {
    std::vector<Turns> turns(job.tests.size());
    std::vector<Runner> runners;
    for (auto& test : job.tests)
        runners.emplace_back(*test.context, test.program->outputs().size(), job.options);
    auto& o = job.options.run;
    cli::Progress progress("timing by turns", size_t(o.iterations));
    auto begin = Clock::now();
    for (int round = 0; round < o.iterations || milliseconds_since(begin) < 1000 * o.duration; ++round) {
        for (size_t i = 0; i < runners.size(); ++i) {
            turns[i].switched.push_back(timed(runners[i]));
            turns[i].repeated.push_back(timed(runners[i]));
        }
        progress.advance();
    }
    return turns;
}

}  // namespace

void check_turns(const Job& job) {
    if (job.options.input.round_robin && job.tests.size() < 2)
        throw_value_error("--round-robin",
                          "needs several tests: --shapes, --input or --batch-size with several values");
}

void time_by_turns(Job& job) {
    if (!job.options.input.round_robin) return;
    auto turns = run_turns(job);
    auto list = cli::Json::array();
    std::vector<std::vector<std::string>> rows{
        {"test", "compile ms", "p50 ms", "p50 ms after another", "p99 ms after another", "switch ms"}};
    for (size_t i = 0; i < turns.size(); ++i) {
        auto& test = job.tests[i];
        auto after_other = cli::summarize(turns[i].switched), after_same = cli::summarize(turns[i].repeated);
        double compile_ms = test.compile_ms + test.prepare_ms, cost = after_other.p50 - after_same.p50;
        rows.push_back({test.name, cli::format_number(compile_ms, 1), cli::format_number(after_same.p50, 4),
                        cli::format_number(after_other.p50, 4), cli::format_number(after_other.p99, 4),
                        cli::format_number(cost, 4)});
        list.push_back({{"test", test.name},
                        {"compile_ms", compile_ms},
                        {"p50_ms", after_same.p50},
                        {"p50_after_switch_ms", after_other.p50},
                        {"p99_after_switch_ms", after_other.p99},
                        {"switch_ms", cost},
                        {"runs", turns[i].switched.size()}});
    }
    std::cout << "by turns\n";
    cli::print_table(std::cout, rows, {"p99 ms after another", "compile ms"});
    job.report["round_robin"] = list;
}

}  // namespace mge::load_and_run
