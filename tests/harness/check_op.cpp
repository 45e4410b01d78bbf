// SPDX-License-Identifier: Apache-2.0
#include "tests/harness/check_op.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "libmge/base/env.h"
#include "libmge/device/default_device.h"
#include "libmge/inspect/elements.h"
#include "libmge/kernel/launch.h"
#include "libmge/kernel/select.h"
#include "libmge/op/backend.h"
#include "libmge/tensor/element_bytes.h"
#include "tests/harness/execution_modes.h"
#include "tests/harness/other_device.h"
#include "tests/harness/run_candidate.h"
#include "tests/harness/tolerance.h"

namespace mge::test {
namespace {

using Random = std::mt19937_64;

constexpr size_t sampled_elements = 24;  // per input, for finite differences

uint64_t test_seed() {
    static const uint64_t seed = uint64_t(env_int("MGE_TEST_SEED").value_or(20240917));
    return seed;
}

std::vector<double> random_values(const InputSpec& spec, DType dtype, int64_t n, Random& random) {
    std::uniform_real_distribution<double> uniform(spec.low, spec.high);
    std::vector<double> values(size_t(std::max<int64_t>(n, 0)));
    for (size_t i = 0; i < values.size(); ++i) {
        double v = spec.values.empty() ? uniform(random) : spec.values[i % spec.values.size()];
        if (spec.values.empty() && is_unsigned(dtype)) v = std::abs(v);
        if (spec.values.empty() && dtype == DType::boolean) v = v > (spec.low + spec.high) / 2;
        values[i] = v;
    }
    return values;
}

Tensors make_inputs(const std::vector<InputSpec>& specs, DType swept, Random& random) {
    Tensors inputs;
    for (auto& spec : specs) {
        DType dtype = spec.dtype == DType::none ? swept : spec.dtype;
        inputs.push_back(spec.absent ? Tensor()
                                     : make_tensor(dtype, spec.shape,
                                                   random_values(spec, dtype, spec.shape.numel(), random)));
    }
    return inputs;
}

// Lets everything through to eager but keeps what the operator under test was given after promotion.
class Promoted final : public Interpreter {
public:
    explicit Promoted(const OpInfo& op) : op_(op) {}
    Tensors apply(const OpInfo& op, const void* params, std::span<const Tensor> inputs) override {
        if (&op == &op_) this->inputs.assign(inputs.begin(), inputs.end());
        return eager_interpreter().apply(op, params, inputs);
    }
    Tensors inputs;

private:
    const OpInfo& op_;
};

Tensors promoted_inputs(const OpInfo& op, const void* params, const Tensors& inputs) {
    Promoted promoted(op);
    InterpreterScope scope(promoted);
    apply(op, params, inputs);
    return promoted.inputs;
}

// An operator on given inputs, host values folded into its parameters.
struct Resolved {
    std::shared_ptr<const void> params;
    Tensors inputs;
};
Resolved resolve(const OpInfo& op, const void* params, const Tensors& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i)
        if (op.resolve && input_info(op, i).kind == InputKind::host)
            return {op.resolve(params, std::span(inputs).subspan(i)),
                    Tensors(inputs.begin(), inputs.begin() + int64_t(i))};
    return {op.params.copy(params), inputs};
}

// One operator, one set of inputs: runs any candidate on it.
struct Bench {
    const OpInfo& op;
    Resolved resolved;
    TensorSpecs inputs = specs_of(resolved.inputs);
    TensorSpecs outputs = op.infer(resolved.params.get(), inputs);

    Problem problem(int threads) const {
        Problem problem = make_problem(op, resolved.params.get(), inputs, outputs);
        problem.device = default_device();
        problem.threads = threads;
        return problem;
    }

    // `in_place`: the output shares the memory of a copy of that input.
    Tensors run(const NamedCandidate& named, int threads, const InPlace* in_place = nullptr) const {
        return run_candidate(named, problem(threads), resolved.inputs, in_place);
    }
};

void expect_same(const Tensors& got, const Tensors& expected, const CheckOptions& options,
                 const std::string& what) {
    ASSERT_EQ(got.size(), expected.size()) << what;
    for (size_t i = 0; i < got.size(); ++i)
        if (expected[i])
            expect_close(got[i], expected[i], options.reduction, options.looser, text(what, ", output ", i));
}

// As the scheduler sees it: what the operator lists, else any input of an elementwise one.
std::vector<InPlace> in_place_pairs(const Bench& bench) {
    std::vector<InPlace> pairs(bench.op.in_place.begin(), bench.op.in_place.end());
    if (pairs.empty() && bench.op.traits.elementwise)
        for (size_t i = 0; i < bench.inputs.size(); ++i) pairs.push_back({0, int(i)});
    return pairs;
}
bool may_share(const Bench& bench, InPlace pair) {
    auto& in = bench.inputs.at(size_t(pair.input));
    auto& out = bench.outputs.at(size_t(pair.output));
    return !in.is_absent() && in.shape == out.shape && in.bytes() == out.bytes();
}

void check_candidates(const Bench& bench, const Tensors& expected, const CheckOptions& options) {
    for (int threads : {1, 2})
        for (auto& named :
             list_candidates(find_kernels(bench.op, default_device()), bench.problem(threads))) {
            std::string what = text(named.candidate.name, " with ", threads, " threads");
            expect_same(bench.run(named, threads), expected, options, what);
            for (auto& pair : in_place_pairs(bench))
                if (size_t(pair.input) < bench.inputs.size() && may_share(bench, pair))
                    expect_same(bench.run(named, threads, &pair), expected, options,
                                text(what, ", in place of input ", pair.input));
        }
}

// Every candidate that the other device has of its own.
void check_candidates_there(const Bench& bench, const Tensors& expected, const CheckOptions& options) {
    DeviceId there = other_device().id;
    auto is_rare = [](const TensorSpec& spec) { return !is_among(spec.dtype, mge::DTypes::common); };
    bool has_rare = std::ranges::any_of(bench.inputs, is_rare) || std::ranges::any_of(bench.outputs, is_rare);
    if (has_rare && other_device().has_own_kernels) return;
    Problem problem = bench.problem(1);
    problem.device = problem.output_device = there;
    Tensors in;
    for (auto& input : bench.resolved.inputs) in.push_back(to_device(input, there));
    auto candidates = list_candidates(find_kernels(bench.op, there), problem);
    EXPECT_FALSE(candidates.empty()) << "no candidate of " << other_device().name << " for " << problem.key();
    for (auto& named : candidates) {
        Prepared prepared = named.algorithm->prepare({problem, named.candidate, {}});
        Tensors out;
        for (auto& spec : bench.outputs) out.push_back(empty_tensor(spec, there));
        launch(*named.algorithm, prepared, {queue_of(there)}, in, out);
        expect_same(on_host(out), expected, options, text(named.candidate.name, " on ", other_device().name));
        report_run(bench.op, named.candidate.name, bench.inputs, bench.outputs);
    }
}

Tensors reference_outputs(const Bench& bench, const CheckOptions& options) {
    if (options.reference) return options.reference(bench.resolved.inputs);
    auto candidates = list_candidates(find_kernels(bench.op, default_device()), bench.problem(1));
    if (candidates.empty()) return {};
    return bench.run(candidates.back(), 1);
}

// --- gradients ---

bool is_float_tensor(const Tensor& t) { return t && is_float(t.dtype()); }

// sum(weights · outputs), in double.
double weighted_sum(const Tensors& outputs, const Tensors& weights) {
    double sum = 0;
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (!weights[i]) continue;
        auto y = values_of(outputs[i]), w = values_of(weights[i]);
        for (size_t j = 0; j < y.size(); ++j) sum += y[j] * w[j];
    }
    return sum;
}

double loss_with(const OpInfo& op, const void* params, const Tensors& inputs, size_t input, size_t element,
                 float value, const Tensors& weights) {
    Tensors changed = inputs;
    changed[input] = tensor_from_host(inputs[input].spec(), inputs[input].data());
    changed[input].data<float>()[element] = value;
    return weighted_sum(eager_interpreter().apply(op, params, changed), weights);
}

// Fourth-order central difference: exact for cubics, so that the steps may be large enough for f32.
double finite_difference(const OpInfo& op, const void* params, const Tensors& inputs, size_t input,
                         size_t element, const Tensors& weights) {
    float x = inputs[input].data<float>()[element];
    float h = 0.01f * std::max(1.f, std::abs(x));
    auto at = [&](float offset) {
        return loss_with(op, params, inputs, input, element, x + offset, weights);
    };
    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12.0 * double(h));
}

void compare_gradient(const OpInfo& op, const void* params, const Tensors& inputs, size_t input,
                      const Tensor& gradient, const Tensors& weights, Random& random) {
    ASSERT_TRUE(gradient) << "no gradient for input " << input;
    ASSERT_EQ(gradient.spec(), inputs[input].spec()) << "gradient of input " << input;
    auto analytic = values_of(gradient);
    double largest = 0;
    for (double g : analytic) largest = std::max(largest, std::abs(g));
    std::vector<size_t> elements(analytic.size());
    for (size_t i = 0; i < elements.size(); ++i) elements[i] = i;
    std::shuffle(elements.begin(), elements.end(), random);
    elements.resize(std::min(elements.size(), sampled_elements));
    for (size_t element : elements) {
        double numeric = finite_difference(op, params, inputs, input, element, weights);
        EXPECT_NEAR(analytic[element], numeric, gradient_tolerance * std::max(largest, 1.0))
            << "gradient of input " << input << " at element " << element;
    }
}

// With kernels of its own the device rounds otherwise: then the tolerance is that of a sum.
void check_gradient_there(const GradientArguments& here, const Tensors& expected) {
    auto there = [](std::span<const Tensor> tensors) {
        Tensors moved;
        for (auto& tensor : tensors) moved.push_back(to_device(tensor, other_device().id));
        return moved;
    };
    Tensors inputs = on_other_device(here.op, here.inputs), outputs = there(here.outputs),
            weights = there(here.output_grads);
    Tensors grads;
    try {
        grads = here.op.gradient({here.op, here.params, inputs, outputs, weights, here.needed});
    } catch (const DeviceError& e) {
        // The error of an operator in the rule.
        if (std::string_view(e.what()).find("is not available on") == std::string_view::npos) throw;
        return;
    }
    int64_t reduction = other_device().has_own_kernels ? 4096 : 1;
    for (size_t i = 0; i < here.needed.size(); ++i)
        if (here.needed[i])
            expect_close(to_host(grads[i]), expected[i], reduction, 1,
                         text("gradient of input ", i, " on ", other_device().name));
}

void check_gradient(const OpInfo& op, const void* params, const Tensors& inputs,
                    const std::vector<InputSpec>& specs, Random& random) {
    Tensors outputs = eager_interpreter().apply(op, params, inputs), weights(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i)
        if (is_float_tensor(outputs[i]))
            weights[i] = make_tensor(outputs[i].dtype(), outputs[i].shape(),
                                     random_values({}, DType::f32, outputs[i].spec().numel(), random));
    auto wanted = std::make_unique<bool[]>(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i)
        wanted[i] = i < specs.size() && specs[i].differentiate && is_float_tensor(inputs[i]);
    Tensors grads = op.gradient({op, params, inputs, outputs, weights, {wanted.get(), inputs.size()}});
    ASSERT_EQ(grads.size(), inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i)
        if (wanted[i]) compare_gradient(op, params, inputs, i, grads[i], weights, random);
    check_gradient_there({op, params, inputs, outputs, weights, {wanted.get(), inputs.size()}}, grads);
}

bool is_close(double got, double expected, double bound, double floor) {
    if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got);
    if (std::isinf(expected) || std::isinf(got)) return got == expected;
    return std::abs(got - expected) <= bound * std::max(std::abs(expected), floor);
}

}  // namespace

std::vector<double> values_of(const Tensor& tensor) {
    std::vector<double> values(size_t(tensor.spec().numel()));
    for_each_element(tensor, [&](int64_t i, double value) { values[size_t(i)] = value; });
    return values;
}

Tensor make_tensor(DType dtype, const Shape& shape, const std::vector<double>& values) {
    Tensor tensor = empty_tensor({dtype, shape, {}});
    MGE_CHECK(int64_t(values.size()) == shape.numel(), values.size(), " values for ", shape);
    auto* at = static_cast<char*>(tensor.data());
    for (double value : values) {
        uint64_t element = element_bytes(dtype, value);
        std::memcpy(at, &element, size_of(dtype));
        at += size_of(dtype);
    }
    return tensor;
}

void expect_close(const Tensor& got, const Tensor& expected, int64_t reduction, double looser,
                  const std::string& what) {
    ASSERT_TRUE(got) << what;
    ASSERT_EQ(got.spec(), expected.spec()) << what;
    auto a = values_of(got), b = values_of(expected);
    double largest = 0;
    for (double v : b)
        if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
    // Sums cancel, so their errors go with the largest value; single operations answer for each element.
    double floor = reduction > 1 ? largest : std::min(largest, 1.0);
    double bound = tolerance(expected.dtype(), reduction) * looser;
    int shown = 0;
    for (size_t i = 0; i < b.size() && shown < 5; ++i)
        if (!is_close(a[i], b[i], bound, floor)) {
            ++shown;
            ADD_FAILURE() << what << ": element " << i << " is " << a[i] << ", expected " << b[i];
        }
}

void check_op(const OpInfo& op, const void* params, const std::vector<InputSpec>& specs,
              const CheckOptions& options) {
    for (DType dtype : options.dtypes) {
        std::string shapes;
        for (auto& spec : specs) shapes += spec.absent ? "- " : text(spec.shape, ' ');
        SCOPED_TRACE(text(op.name, '(', params_text(op.fields, params), ") ", shapes, dtype,
                          " MGE_TEST_SEED=", test_seed()));
        Random random(test_seed());
        Tensors inputs = promoted_inputs(op, params, make_inputs(specs, dtype, random));
        Bench bench{op, resolve(op, params, inputs)};
        Tensors expected = reference_outputs(bench, options);
        ASSERT_FALSE(expected.empty()) << "no candidate accepts " << bench.problem(1).key();
        check_candidates(bench, expected, options);
        if (other_device().has_own_kernels && !op.traits.runtime_shape && is_there(op))
            check_candidates_there(bench, expected, options);
        check_execution_modes(op, params, inputs, expected, options);
        if (options.gradient && op.gradient && dtype == DType::f32)
            check_gradient(op, params, inputs, specs, random);
    }
}

}  // namespace mge::test
