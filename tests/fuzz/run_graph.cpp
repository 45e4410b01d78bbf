// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/run_graph.h"

#include <cmath>
#include <cstring>

#include "libmge/compile/program.h"
#include "libmge/device/default_device.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "tests/fuzz/random.h"

namespace mge::fuzz {
namespace {

GraphRuns runs;

void choose_algorithms(SelectOptions& select, Random& random) {
    switch (random.below(8)) {
        case 0:
            select.reference = true;
            return;
        case 1:
            select.reproducible = true;
            return;
        case 2:
            select.same_between_batches = true;
            return;
        case 3:
        case 4:  // any that supports the problem: chance says how long each takes
            select.profile = true;
            select.heuristic = false;
            select.measure = [times = Random(random.bits())](auto&&...) mutable {
                return std::optional(double(1 + times.below(1000)));
            };
            return;
        default:
            return;
    }
}

// Contradicting options are never chosen together.
CompileOptions any_options(Random& random) {
    constexpr const char* layouts[] = {"nchw", "nhwc", "nChw8c", "nChw16c"};
    constexpr Precision precisions[] = {Precision::relaxed, Precision::fast};
    constexpr int weight_bits[] = {4, 8};
    CompileOptions options;
    options.threads = 1;
    options.verify_passes = true;
    options.level = int(random.below(4));
    choose_algorithms(options.select, random);
    if (random.one_in(4)) options.layout = random.pick(layouts);
    if (random.one_in(4)) options.precision = random.pick(precisions);
    if (random.one_in(8)) options.weight_bits = random.pick(weight_bits);
    if (random.one_in(4)) options.switches.fuse_elementwise = int(random.below(3));
    options.switches.store_half = random.one_in(16);
    options.plan.in_place = !random.one_in(16);
    options.plan.reuse = !random.one_in(16);
    options.no_force_inplace = random.one_in(16);
    options.force_dynamic_alloc = random.one_in(16);
    options.recompute.lowers_peak = random.one_in(16);
    options.recompute.keeps_budget = !options.recompute.lowers_peak && random.one_in(16);
    return options;
}

// Small numbers are valid indices and lengths, the others are not.
void fill(void* data, const TensorSpec& spec, Random& random) {
    constexpr float numbers[] = {0,    1,      2,   3,    5,     -1,    -2,       0.5f,
                                 -0.f, 1e-40f, 300, 7e4f, -3e9f, 1e30f, INFINITY, NAN};
    std::vector<float> values(size_t(spec.shape.numel()));
    const size_t kinds = random.one_in(2) ? 4 : std::size(numbers);
    for (float& value : values) value = numbers[random.below(kinds)];
    Tensor filled = tensor_from_host({DType::f32, spec.shape, {}}, values.data());
    if (spec.dtype != DType::f32) filled = ops::convert(filled, {.dtype = spec.dtype});
    std::memcpy(data, filled.data(), spec.bytes());
}

}  // namespace

void run_graph(const Graph& graph, uint64_t choice) {
    ++runs.begun;
    Random random{unsigned(choice)};
    auto program = Program::compile(graph, any_options(random));
    auto context = Context::create(program);
    const bool zeros = random.one_in(4);
    for (size_t i = 0; i < program->inputs().size(); ++i) {
        auto& spec = program->inputs()[i].spec;
        if (zeros)
            std::memset(context->input(i), 0, spec.bytes());
        else
            fill(context->input(i), spec, random);
    }
    context->run();
    for (size_t i = 0; i < program->outputs().size(); ++i) {
        auto& spec = program->outputs()[i].spec;
        Tensor y = context->copy_output(i);
        MGE_CHECK(!spec.shape.is_known() || y.shape() == spec.shape, "output ", i, " is ", y.shape());
        MGE_CHECK(y.dtype() == spec.dtype, "output ", i, " is ", y.dtype());
    }
    ++runs.finished;
}

GraphRuns graph_runs() { return runs; }

}  // namespace mge::fuzz
