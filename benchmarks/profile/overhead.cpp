// SPDX-License-Identifier: Apache-2.0
// Cost of a profiler for the run that it observes: rounds of runs with and without it, in turn, on one
// context.
//
//     benchmark_profile MODEL.mge [ROUNDS [RUNS [THREADS]]]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "libmge/base/error.h"
#include "libmge/base/threads/threads.h"
#include "libmge/inspect/profile/profiler.h"
#include "libmge/model/model.h"

namespace {

using namespace mge;
using Clock = std::chrono::steady_clock;

double median(std::vector<double> values) {
    auto half = values.begin() + ptrdiff_t(values.size() / 2);
    std::nth_element(values.begin(), half, values.end());
    return *half;
}

// Milliseconds of the median run.
double round_of(Context& context, int runs) {
    std::vector<double> times;
    for (int i = 0; i < runs; ++i) {
        auto start = Clock::now();
        context.run();
        times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }
    return median(times);
}

int measure(const char* path, int rounds, int runs, int threads) {
    if (threads) set_default_threads(threads);
    Model model = read_model(path);
    CompileOptions options;
    options.threads = default_threads();
    auto program = Program::compile(model.graph, options);
    auto context = Context::create(program);
    for (size_t i = 0; i < program->inputs().size(); ++i)
        std::memset(context->input(i), 0, program->inputs()[i].spec.bytes());
    round_of(*context, runs);

    const struct {
        const char* name;
        bool dispatch;
    } kinds[] = {{"profile", false}, {"profile-host", true}};
    for (auto& kind : kinds) {
        Profiler profiler(*program, {.dispatch = kind.dispatch});
        std::vector<double> ratios, without;
        for (int round = 0; round < rounds; ++round) {
            // The order changes, so that a machine that slows down favours neither.
            double on = 0, off = 0;
            for (int half = 0; half < 2; ++half) {
                bool watched = (round + half) % 2;
                context->observe(watched ? &profiler : nullptr);
                (watched ? on : off) = round_of(*context, runs);
            }
            ratios.push_back(on / off);
            without.push_back(off);
        }
        context->observe(nullptr);
        auto [least, most] = std::ranges::minmax(ratios);
        std::printf(
            "%-12s %s: %zu steps, %d threads, %.4f ms; %d rounds of %d runs: ratio median %.4f, %.4f to "
            "%.4f\n",
            kind.name, path, program->steps().size(), options.threads, median(without), rounds, runs,
            median(ratios), least, most);
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: benchmark_profile MODEL.mge [ROUNDS [RUNS [THREADS]]]\n");
        return 2;
    }
    auto number = [&](int i, int otherwise) { return argc > i ? std::atoi(argv[i]) : otherwise; };
    try {
        return measure(argv[1], number(2, 30), number(3, 10), number(4, 0));
    } catch (const mge::Error& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return int(e.code());
    }
}
