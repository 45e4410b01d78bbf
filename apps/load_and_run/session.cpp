// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "libmge/base/log.h"
#include "libmge/base/threads.h"
#include "libmge/model/open.h"
#include "libmge/op/apply.h"

namespace mge::load_and_run {
namespace {

// Test cases were computed by eager operators; other algorithms may differ by this much. Relative to the
// largest value.
constexpr double relative_tolerance = 1e-4, half_tolerance = 1e-2;

using Clock = std::chrono::steady_clock;
double milliseconds_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

TensorSpecs specs_of(const Tensors& tensors) {
    TensorSpecs specs;
    for (auto& t : tensors) specs.push_back(t.spec());
    return specs;
}

double largest_magnitude(const Tensor& t) {
    double largest = 0;
    for (int64_t i = 0; i < t.spec().numel(); ++i)
        if (double v = std::abs(double(t.data<float>()[i])); std::isfinite(v)) largest = std::max(largest, v);
    return largest;
}

void compare_values(const Tensor& got, const Tensor& expected, TestCaseResult& result, Mismatch mismatch) {
    bool is_half = size_of(expected.dtype()) == 2 && is_float(expected.dtype());
    Tensor a = convert_dtype(got, DType::f32), b = convert_dtype(expected, DType::f32);
    double allowed = is_float(expected.dtype()) ? (is_half ? half_tolerance : relative_tolerance) *
                                                      std::max(1e-3, largest_magnitude(b))
                                                : 0;
    for (int64_t i = 0; i < b.spec().numel(); ++i) {
        float x = a.data<float>()[i], y = b.data<float>()[i];
        if (x == y || (std::isnan(x) && std::isnan(y))) continue;
        double error = std::abs(double(x) - double(y));
        if (error <= allowed) {
            result.largest_error = std::max(result.largest_error, error);
            continue;
        }
        if (mismatch.count++ == 0) {
            mismatch.index = i;
            mismatch.got = text(x);
            mismatch.expected = text(y);
        }
        result.largest_error = std::max(result.largest_error, std::isnan(error) ? INFINITY : error);
    }
    if (mismatch.count) result.mismatches.push_back(std::move(mismatch));
}

void compare(const Tensor& got, const Tensor& expected, const std::string& output, TestCaseResult& result) {
    if (got.dtype() != expected.dtype() || !(got.shape() == expected.shape())) {
        result.mismatches.push_back({output, -1, text(got.spec()), text(expected.spec()), 1});
        return;
    }
    compare_values(got, expected, result, {output, -1, {}, {}, 0});
}

void load_inputs(Context& context, const Tensors& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i)
        if (size_t bytes = inputs[i].spec().bytes()) std::memcpy(context.input(i), inputs[i].data(), bytes);
}

}  // namespace

Session::Session(const Options& options) : options_(options) {
    if (options.threads) set_default_threads(options.threads);
    compile_options_.threads = default_threads();
    auto start = Clock::now();
    model_ = open_model(options.model);
    load_ms = milliseconds_since(start);

    bool named = !options.algorithm_cache.empty();
    if (named && !options.fast_run && !std::filesystem::exists(options.algorithm_cache))
        throw UserError(text("--fast-run-algo-policy: '", options.algorithm_cache,
                             "' does not exist; add --fast-run to fill it"));
    if (!named && !options.fast_run) return;
    cache_ = FastrunCache::open(named ? options.algorithm_cache : FastrunCache::default_path());
    compile_options_.select.cache = cache_.get();
    compile_options_.select.profile = true;
    compile_options_.select.heuristic = !options.fast_run;
    compile_options_.select.optimized = options.fast_run;
}

std::shared_ptr<const Program> Session::program_for(const TensorSpecs& inputs) {
    auto has_spec = [](const PortInfo& port, const TensorSpec& spec) { return port.spec == spec; };
    if (program_ && std::ranges::equal(program_->inputs(), inputs, has_spec)) return program_;
    return Program::compile(infer_shapes(model_.graph, inputs), compile_options_);
}

std::unique_ptr<Context> Session::make_context(std::shared_ptr<const Program> program,
                                               const Tensors& inputs) {
    auto context = Context::create(std::move(program));
    load_inputs(*context, inputs);
    return context;
}

void Session::start(const Tensors& inputs) {
    auto start = Clock::now();
    program_ = program_for(specs_of(inputs));
    context_ = make_context(program_, inputs);
    compile_ms = milliseconds_since(start);
    start = Clock::now();
    context_->run();
    first_run_ms = milliseconds_since(start);
}

std::vector<TestCaseResult> Session::check_test_cases() {
    std::vector<TestCaseResult> results;
    for (auto& test : model_.test_cases) {
        TestCaseResult result{test.name, !test.outputs.empty(), 0, {}};
        auto program = program_for(specs_of(test.inputs));
        auto context = make_context(program, test.inputs);
        context->run();
        for (size_t i = 0; i < test.outputs.size(); ++i)
            compare(context->copy_output(i), test.outputs[i], program->outputs()[i].name, result);
        results.push_back(std::move(result));
    }
    return results;
}

std::vector<double> Session::measure() {
    for (int i = 0; i < options_.warmup_iterations; ++i) context_->run();
    std::vector<double> times;
    times.reserve(size_t(options_.iterations));
    auto begin = Clock::now();
    while (int(times.size()) < options_.iterations || milliseconds_since(begin) < options_.duration * 1000) {
        auto start = Clock::now();
        context_->run();
        times.push_back(milliseconds_since(start));
    }
    return times;
}

}  // namespace mge::load_and_run
