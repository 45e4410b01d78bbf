// SPDX-License-Identifier: Apache-2.0
// A small net for a long time: the same context run after run, then loaded, compiled, run and dropped again
// and again. Memory and handles stay what they are after the first part. MGE_NIGHTLY=1 runs the full counts.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "libmge/compile/program.h"
#include "libmge/model/open.h"
#include "tests/harness/nightly.h"

namespace mge {
namespace {

constexpr int samples = 20, warm_up_samples = 5;
constexpr double largest_rise = 1 << 20;

struct Figures {
    double resident = 0;  // bytes
    long handles = 0, threads = 0;
};

long entries_of(const char* folder) {
    auto all = std::filesystem::directory_iterator(folder);
    return std::distance(begin(all), end(all));
}

Figures figures_now() {
    long total = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> total >> resident;
    return {double(resident) * double(::sysconf(_SC_PAGESIZE)), entries_of("/proc/self/fd"),
            entries_of("/proc/self/task")};
}

// By how much a straight line through these figures rises over all of them: what is taken for good, and not
// the last one's chance.
double rise_of(std::span<const Figures> all) {
    double n = double(all.size()), mean_x = (n - 1) / 2, mean_y = 0, xy = 0, xx = 0;
    for (auto& f : all) mean_y += f.resident / n;
    for (size_t i = 0; i < all.size(); ++i) {
        xy += (double(i) - mean_x) * (all[i].resident - mean_y);
        xx += (double(i) - mean_x) * (double(i) - mean_x);
    }
    return xy / xx * (n - 1);
}

void expect_steady(const char* what, int count, const std::function<void()>& work) {
    std::vector<Figures> seen;
    for (int sample = 0; sample < samples; ++sample) {
        for (int i = 0; i < count / samples; ++i) work();
        seen.push_back(figures_now());
    }
    auto steady = std::span(seen).subspan(warm_up_samples);
    double rise = rise_of(steady);
    std::printf(
        "    %d %s: %.1f MiB resident after the first, %.1f at the end, a rise of %.3f; %ld handles\n", count,
        what, seen.front().resident / (1 << 20), seen.back().resident / (1 << 20), rise / (1 << 20),
        seen.back().handles);
    EXPECT_LT(rise, largest_rise) << what;
    EXPECT_EQ(steady.front().handles, steady.back().handles) << what;
    EXPECT_EQ(steady.front().threads, steady.back().threads) << what;
}

std::shared_ptr<const Program> compiled(const Model& model) {
    CompileOptions options;
    options.threads = 1;
    return Program::compile(model.graph, options);
}

std::string lenet() { return MGE_TEST_DATA "/megengine/lenet.v2.mge"; }

TEST(Soak, RunsOfOneContext) {
    auto program = compiled(open_model(lenet()));
    auto context = Context::create(program);
    std::memset(context->input(0), 0, program->inputs()[0].spec.bytes());
    context->run();
    Tensor first = context->copy_output(0);
    expect_steady("runs", test::is_nightly() ? 1'000'000 : 20'000, [&] { context->run(); });
    Tensor last = context->output(0);
    EXPECT_EQ(std::memcmp(first.data(), last.data(), first.spec().bytes()), 0);
}

TEST(Soak, LoadedAndDropped) {
    expect_steady("loads", test::is_nightly() ? 10'000 : 400,
                  [] { Context::create(compiled(open_model(lenet())))->run(); });
}

}  // namespace
}  // namespace mge
