// SPDX-License-Identifier: Apache-2.0
// Common properties of all families of algorithms on a GPU: they respect the limit of their workspace, and
// reproducible ones give the same bits again.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "libmge/kernel/launch.h"
#include "libmge/kernel/select.h"
#include "libmge/mge.h"
#include "libmge/op/backend.h"
#include "libmge/ops/quantize/convolution/quantized_conv2d.h"
#include "tests/cuda/emulation.h"
#include "tests/harness/check_op.h"
#include "tests/harness/other_device.h"

namespace mge::test {
namespace {

DeviceId gpu() { return other_device().id; }

// An operator with operands, on the GPU.
struct Call {
    const OpInfo* op;
    std::shared_ptr<const void> params;
    Tensors inputs;
    const char* family;  // prefix of the library's candidates
    TensorSpecs in, out;

    Problem problem(Precision precision = Precision::strict) const {
        Problem p = make_problem(*op, params.get(), in, out);
        p.device = p.output_device = gpu();
        p.precision = precision;
        return p;
    }
    KernelList kernels() const { return find_kernels(*op, gpu()); }
    Tensors run(const Algorithm& algorithm, const Prepared& prepared) const {
        Tensors results;
        for (auto& spec : out) results.push_back(empty_tensor(spec, gpu()));
        launch(algorithm, prepared, {queue_of(gpu())}, inputs, results);
        return results;
    }
};

template <class O>
Call call(const typename O::Params& params, const Tensors& inputs, const char* family) {
    Call c{&O::info, std::make_shared<const typename O::Params>(params), {}, family, {}, {}};
    for (auto& input : inputs) {
        c.in.push_back(input ? input.spec() : TensorSpec{});
        c.inputs.push_back(input ? to_device(input, gpu()) : input);
    }
    c.out = O::info.infer(c.params.get(), c.in);
    return c;
}

Tensor numbers(DType dtype, const Shape& shape, int seed) {
    std::vector<double> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = double((int(i) * 7 + seed * 13) % 23 - 11);
    return make_tensor(dtype, shape, values);
}

// For each family, also the calls that need extra memory: plain images that are copied.
std::vector<Call> calls() {
    std::vector<Call> all;
    for (DType dtype : {DType::f32, DType::f16}) {
        Tensor x = numbers(dtype, {2, 4, 7, 7}, 1), weight = numbers(dtype, {6, 4, 3, 3}, 2),
               y = numbers(dtype, {2, 6, 7, 7}, 3), bias = numbers(dtype, {1, 6, 1, 1}, 4);
        all.push_back(call<ops::Conv2d>({.padding = {1, 1}}, {x, weight, bias, y}, "cudnn"));
        all.push_back(call<ops::Conv2dBackwardData>({.padding = {1, 1}}, {weight, y, x}, "cudnn"));
        all.push_back(call<ops::Conv2dBackwardWeight>({.padding = {1, 1}}, {x, y, weight}, "cudnn"));
        all.push_back(
            call<ops::Matmul>({}, {numbers(dtype, {8, 1024}, 5), numbers(dtype, {1024, 16}, 6)}, "cublaslt"));
    }
    Tensor heads = numbers(DType::f16, {2, 3, 9, 8}, 9);
    all.push_back(call<ops::Attention>({.causal = true}, {heads, heads, heads}, "cudnn"));
    all.push_back(call<ops::QuantizedConv2d>(
        {.padding = {1, 1}}, {numbers(DType::i8, {2, 4, 7, 7}, 7), numbers(DType::i8, {6, 4, 3, 3}, 8)},
        "cudnn"));
    return all;
}

bool is_of_family(const Call& c, std::string_view name) { return name.starts_with(c.family); }
bool has_family(const Call& c) {
    return std::ranges::any_of(list_candidates(c.kernels(), c.problem()),
                               [&](auto& named) { return is_of_family(c, named.candidate.name); });
}

TEST(CudaFamilies, RespectWorkspaceLimit) {
    for (auto& c : calls())
        for (Precision precision : {Precision::strict, Precision::relaxed}) {
            Problem p = c.problem(precision);
            std::vector<size_t> sizes;
            for (auto& named : list_candidates(c.kernels(), p)) {
                Prepared prepared = named.algorithm->prepare({p, named.candidate, {}});
                sizes.push_back(prepared.workspace());
            }
            EXPECT_TRUE(std::ranges::count(sizes, 0U)) << p.op << ": none needs no memory at all";
            sizes.push_back(1);
            for (size_t size : sizes)
                for (size_t limit : {size - (size > 0), size})
                    for (bool measures : {false, true}) {
                        SelectOptions options;
                        options.workspace_limit = limit;
                        options.profile = measures;
                        options.heuristic = !measures;
                        // The largest workspace within the limit is the fastest allowed; larger ones are
                        // faster still.
                        options.measure = [&](const Problem&, const Algorithm&, const Prepared& prepared,
                                              double) {
                            return prepared.workspace() > limit    ? 1.
                                   : prepared.workspace() == limit ? 2.
                                                                   : 9.;
                        };
                        Choice choice = select(c.kernels(), p, {}, options);
                        EXPECT_LE(choice.prepared.workspace(), limit) << p.op << ' ' << choice.candidate.name;
                        if (measures && limit == size && size > 1) {
                            EXPECT_EQ(choice.prepared.workspace(), limit) << p.op;
                        }
                    }
        }
}

TEST(CudaFamilies, ListsAlgorithmsOfTheLibrary) {
    if (!is_emulated) GTEST_SKIP() << "a GPU's libraries may be missing";
    for (auto& c : calls()) {
        if (has_family(c)) continue;
        // A build without their headers has none, and says so.
        for (auto& algorithm : c.kernels()) {
            if (!is_of_family(c, algorithm.name)) continue;
            const Support support = algorithm.supports(c.problem());
            EXPECT_STREQ(support.reason, "this build has none of NVIDIA's libraries") << c.op->name;
        }
    }
}

TEST(CudaFamilies, ReproducibleAlgorithmsRepeatBits) {
    for (auto& c : calls()) {
        Problem p = c.problem();
        for (auto& named : list_candidates(c.kernels(), p)) {
            if (!named.candidate.attributes.reproducible) continue;
            Prepared prepared = named.algorithm->prepare({p, named.candidate, {}});
            auto expected = values_of(to_host(c.run(*named.algorithm, prepared)[0]));
            for (int again = 0; again < 3; ++again)
                EXPECT_EQ(values_of(to_host(c.run(*named.algorithm, prepared)[0])), expected)
                    << p.op << ' ' << named.candidate.name;
        }
    }
}

TEST(CudaFamilies, ReproducibleOmitsOtherAlgorithms) {
    int others = 0;
    for (auto& c : calls()) {
        Problem p = c.problem();
        auto all = list_candidates(c.kernels(), p);
        auto is_reproducible = [&](std::string_view name) {
            auto at = std::ranges::find(all, name, [](auto& n) { return n.candidate.name; });
            return at != all.end() && at->candidate.attributes.reproducible;
        };
        others += int(
            std::ranges::count_if(all, [](auto& named) { return !named.candidate.attributes.reproducible; }));
        for (bool measures : {false, true}) {
            SelectOptions options;
            options.reproducible = true;
            options.profile = measures;
            options.heuristic = !measures;
            // Those that are left out would be the fastest.
            int queries = 0;
            options.measure = [&](const Problem&, const Algorithm&, const Prepared&, double) {
                return double(10 - std::min(queries++, 9));
            };
            Choice choice = select(c.kernels(), p, {}, options);
            EXPECT_TRUE(is_reproducible(choice.candidate.name)) << p.op << ' ' << choice.candidate.name;
        }
    }
    // The emulated cuDNN has some among the gradients of weights.
    if (is_emulated && has_family(calls().front())) {
        EXPECT_GT(others, 0);
    }
}

// Code that is loaded, or compiled, when it first runs says nothing of the runs that follow.
TEST(CudaFamilies, TheFirstRunIsNotTimed) {
    using namespace std::chrono_literals;
    static int runs;
    runs = 0;
    auto always = [](const Problem&) -> Support { return supported; };
    auto prepare = [](const PrepareContext&) { return Prepared::make(0, 0); };
    auto late = [](const Prepared&, const Launch&) {
        if (runs++ == 0) std::this_thread::sleep_for(500ms);
    };
    // The event before a run must be reached first: the time between two events that are reached late says
    // nothing.
    auto slow = [](const Prepared&, const Launch& launch) {
        launch.queue->wait();
        std::this_thread::sleep_for(50ms);
    };
    const Algorithm algorithms[] = {{"slow", always, prepare, slow}, {"late", always, prepare, late}};
    SelectOptions options;
    options.heuristic = false;
    options.profile = true;
    auto x = call<ops::Relu>({}, {make_tensor(DType::f32, {2}, {1, 2})}, "");
    EXPECT_EQ(select(algorithms, x.problem(), {}, options).candidate.name, "late");
}

}  // namespace
}  // namespace mge::test
