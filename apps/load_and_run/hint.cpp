// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/hint.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/cli/output/table.h"
#include "apps/load_and_run/measure/clock.h"
#include "libmge/base/threads/threads.h"

namespace mge::load_and_run {
namespace {

constexpr int least_runs = 3;

// A number of streams with so many threads each, and its figures.
struct Division {
    int streams = 1, threads = 1;
    bool is_measured = false;
    double p50_ms = 0, throughput_per_s = 0;
};

// All threads to one stream, a half, a quarter, …; for throughput as many streams as threads allow.
std::vector<Division> divisions(const std::string& goal, int all_threads) {
    std::vector<Division> result;
    for (int threads = all_threads; threads > 0; threads /= 2)
        result.push_back({goal == "latency" ? 1 : all_threads / threads, threads});
    // The first ones are measured if time is short.
    if (goal == "throughput") std::ranges::reverse(result);
    return result;
}

void measure_division(Division& division, const cli::Invocation& invocation, const Options& options,
                      double seconds, void (*run_stages)(Job& job)) {
    cli::Invocation quiet = invocation;
    quiet.quiet = true;
    Options own = options;
    own.run.streams = division.streams;
    own.device.threads = division.threads;
    own.run.iterations = least_runs;
    own.run.duration = seconds;
    cli::Json report = cli::Json::object();
    Job job{quiet, own, report};
    run_stages(job);
    if (job.failure) return;  // the run itself reports it
    division.is_measured = true;
    division.p50_ms = job.results.at(0).latency.p50;
    division.throughput_per_s = job.results.at(0).throughput_per_s;
}

bool is_better(const Division& a, const Division& b, const std::string& goal) {
    if (a.is_measured != b.is_measured) return a.is_measured;
    return goal == "latency" ? a.p50_ms < b.p50_ms : a.throughput_per_s > b.throughput_per_s;
}

void print_divisions(const std::vector<Division>& all, const Division& best, const std::string& goal) {
    std::vector<std::vector<std::string>> rows{{"streams", "threads", "p50 ms", "samples/s", ""}};
    for (auto& d : all)
        rows.push_back({std::to_string(d.streams), std::to_string(d.threads),
                        d.is_measured ? cli::format_number(d.p50_ms, 4) : "-",
                        d.is_measured ? cli::format_number(d.throughput_per_s, 1) : "-",
                        &d == &best     ? text("best ", goal)
                        : d.is_measured ? ""
                                        : "no time left"});
    cli::print_table(std::cout, rows);
}

}  // namespace

cli::Json choose_streams_and_threads(const cli::Invocation& invocation, Options& options,
                                     void (*run_stages)(Job& job)) {
    auto& hint = options.hint;
    auto all = divisions(hint.goal, default_threads());
    auto start = Clock::now();
    cli::Progress progress("choosing streams and threads", all.size());
    for (auto& division : all) {
        double elapsed = milliseconds_since(start) / 1000;
        if (&division != all.data() && elapsed >= hint.seconds) break;
        // Loading and compiling count, too.
        double share = (hint.seconds - elapsed) / double(all.data() + all.size() - &division);
        measure_division(division, invocation, options, std::max(share, 0.0) / 2, run_stages);
        progress.advance();
    }
    auto& best = *std::ranges::min_element(all, [&](auto& a, auto& b) { return is_better(a, b, hint.goal); });
    print_divisions(all, best, hint.goal);
    options.run.streams = best.streams;
    options.device.threads = best.threads;
    auto list = cli::Json::array();
    for (auto& d : all) {
        list.push_back({{"streams", d.streams}, {"threads", d.threads}, {"measured", d.is_measured}});
        if (d.is_measured)
            list.back().update({{"p50_ms", d.p50_ms}, {"throughput_per_s", d.throughput_per_s}});
    }
    return {{"goal", hint.goal},
            {"seconds", milliseconds_since(start) / 1000},
            {"candidates", list},
            {"streams", best.streams},
            {"threads", best.threads}};
}

}  // namespace mge::load_and_run
