// SPDX-License-Identifier: Apache-2.0
// A small net for a long time: the same context run after run, then loaded, compiled, run and dropped again
// and again. Memory and handles stay what they are after the first part. MGE_NIGHTLY=1 runs the full counts.

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "libmge/compile/program.h"
#include "libmge/model/open.h"
#include "tests/harness/nightly.h"
#include "tests/soak/steady_figures.h"

namespace mge {
namespace {

void expect_steady(const char* what, int count, const std::function<void()>& work) {
    test::SteadyFigures figures;
    for (int sample = 0; sample < test::soak_samples; ++sample) {
        for (int i = 0; i < count / test::soak_samples; ++i) work();
        figures.sample();
    }
    figures.expect(what, count);
}

std::shared_ptr<const Program> compiled(const Model& model) {
    CompileOptions options;
    options.threads = 1;
    return Program::compile(model.graph, options);
}

std::string lenet() { return MGE_TEST_DATA "/megengine/lenet.v2.mge"; }

TEST(Soak, RepeatedRuns) {
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
