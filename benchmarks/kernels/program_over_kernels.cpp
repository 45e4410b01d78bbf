// SPDX-License-Identifier: Apache-2.0
// How much a running Program adds to its kernels: the time of a run over the sum of its steps, timed one
// after the other with the same buffers in the same process. Usage: benchmark_program THREADS MODEL.mge…
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "libmge/kernel/fastrun_cache.h"
#include "libmge/mge.h"
#include "libmge/model/model.h"

namespace {

constexpr int rounds = 31;
constexpr int warm_up_runs = 5;

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + long(values.size() / 2), values.end());
    return values[values.size() / 2];
}

double time_run(mge::Context& context) {
    auto begin = std::chrono::steady_clock::now();
    context.run();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

void measure(const std::string& path, int threads) {
    mge::Model model = mge::read_model(path);
    auto path_of_cache = mge::FastrunCache::default_path();
    auto cache = path_of_cache ? mge::FastrunCache::open(*path_of_cache) : mge::FastrunCache::in_memory();
    mge::CompileOptions options;
    options.threads = threads;
    options.select.heuristic = false;
    options.select.profile = true;
    options.select.cache = cache.get();
    auto program = mge::Program::compile(model.graph, options);
    auto context = mge::Context::create(program);
    for (int i = 0; i < warm_up_runs; ++i) context->run();
    // Interleaved, so that a change of clock meets both alike.
    std::vector<double> runs, sums, ratios;
    for (int i = 0; i < rounds; ++i) {
        std::vector<double> steps = context->time_steps();
        sums.push_back(std::accumulate(steps.begin(), steps.end(), 0.0));
        runs.push_back(time_run(*context));
        ratios.push_back(runs.back() / sums.back());
    }
    std::printf("| %s | %d | %zu | %.3f | %.3f | %.3f |\n", path.substr(path.rfind('/') + 1).c_str(), threads,
                program->steps().size(), median(runs), median(sums), median(ratios));
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fprintf(stderr, "usage: %s THREADS MODEL.mge...\n", argv[0]);
        return 2;
    }
    std::puts(
        "| model | threads | steps | run ms | sum of steps ms | run over sum |\n|---|---|---|---|---|---|");
    try {
        for (int i = 2; i < argc; ++i) measure(argv[i], std::stoi(argv[1]));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
