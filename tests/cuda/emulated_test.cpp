// SPDX-License-Identifier: Apache-2.0
// Tests that need an emulated GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "libmge/device/sharing.h"
#include "libmge/mge.h"
#include "libmge/op/backend.h"
#include "tests/cuda/emulated/memory.h"
#include "tests/cuda/emulated/several.h"
#include "tests/harness/expect_error.h"
#include "tests/harness/other_device.h"
#include "tests/shadow/values.h"

namespace mge::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

DeviceId gpu() { return other_device().id; }

TEST(EmulatedCuda, OutOfMemoryNamesTheRequest) {
    device(gpu()).release_cached();
    cuda::emulated::set_memory(size_t(64) << 20);
    EXPECT_THAT(error_of<MemoryError>([] { queue_of(gpu()).allocate(size_t(100) << 20); }),
                AllOf(HasSubstr("gpu0 has no 104857600 bytes of memory left"), HasSubstr("held")));
    // Memory cached elsewhere is returned first.
    { auto most = queue_of(gpu()).allocate(size_t(40) << 20); }
    DeviceId other = gpu();
    other.stream = 2;
    EXPECT_TRUE(queue_of(other).allocate(size_t(40) << 20));
    Tensor large = empty_tensor({DType::f32, {1 << 23}, {}}, other);
    EXPECT_THAT(error_of<MemoryError>([&] { ops::add(large, large); }),
                HasSubstr("add: gpu0 has no 33554432 bytes of memory left"));
    cuda::emulated::set_memory(size_t(8) << 30);
}

TEST(EmulatedCuda, PersistentFaultNamesTheLastOperators) {
    Tensor x = on(gpu(), {1, 2, 3});
    queue_of(gpu()).wait();  // the work in flight would be lost, too
    Tensor y = ops::exp(ops::add(x, x));
    cuda::emulated::fail_next(cudaErrorIllegalAddress);
    std::string message = error_of<DeviceError>([&] { floats_of(y); });
    EXPECT_THAT(message, AllOf(HasSubstr("cudaErrorIllegalAddress (700)"),
                               HasSubstr("is lost to this process"), HasSubstr("last launched: exp, add")));
    EXPECT_THAT(error_of<DeviceError>([&] { ops::add(x, x); }), HasSubstr("cudaErrorIllegalAddress"));
    cuda::emulated::revive();
    EXPECT_EQ(floats_of(ops::add(x, x))[2], 6);
}

TEST(EmulatedCuda, PersistentFaultsLoseTheDevice) {
    for (auto fault : {cudaErrorContained, cudaErrorIllegalAddress, cudaErrorLaunchTimeout, cudaErrorAssert,
                       cudaErrorHardwareStackError, cudaErrorIllegalInstruction, cudaErrorMisalignedAddress,
                       cudaErrorInvalidAddressSpace, cudaErrorInvalidPc, cudaErrorLaunchFailure,
                       cudaErrorTensorMemoryLeak, cudaErrorMpsClientTerminated, cudaErrorExternalDevice}) {
        Tensor x = on(gpu(), {1, 2, 3});
        queue_of(gpu()).wait();
        cuda::emulated::fail_next(fault);
        EXPECT_THAT(error_of<DeviceError>([&] { floats_of(ops::add(x, x)); }),
                    AllOf(HasSubstr(text('(', int(fault), ')')), HasSubstr("is lost to this process")));
        EXPECT_THAT(error_of<DeviceError>([&] { device(gpu()).synchronize(); }),
                    HasSubstr("is lost to this process"));
        cuda::emulated::revive();
    }
}

TEST(EmulatedCuda, TransientFaultIsReportedOnce) {
    Tensor x = on(gpu(), {1, 2, 3});
    queue_of(gpu()).wait();
    cuda::emulated::fail_next(cudaErrorInvalidValue);
    EXPECT_THAT(error_of<DeviceError>([&] { floats_of(ops::add(x, x)); }),
                AllOf(HasSubstr("cudaErrorInvalidValue (1)"), Not(HasSubstr("is lost"))));
    EXPECT_EQ(floats_of(ops::add(x, x))[2], 6);
}

TEST(EmulatedCuda, DeviceChangesByOtherLibrariesAreNoticed) {
    Tensor x = on(gpu(), {1, 2, 3});
    ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
    EXPECT_EQ(floats_of(ops::add(x, x))[2], 6);
    EXPECT_EQ(cuda::emulated::device_of_thread(), 0);
}

TEST(EmulatedCuda, GpusUsePeerAccessIfAvailable) {
    DeviceId other = gpu();
    other.index = 1;
    auto there_and_back = [&] { return floats_of(to_device(to_device(on(gpu(), {1, 2, 3}), other), gpu())); };
    size_t before = cuda::emulated::copies_between_peers();
    EXPECT_THAT(there_and_back(), testing::ElementsAre(1, 2, 3));
    EXPECT_EQ(cuda::emulated::copies_between_peers(), before + 2);
    cuda::emulated::set_peer_access(false);
    EXPECT_THAT(there_and_back(), testing::ElementsAre(1, 2, 3));
    EXPECT_EQ(cuda::emulated::copies_between_peers(), before + 2) << "through the host";
    cuda::emulated::set_peer_access(true);
}

TEST(EmulatedCuda, BlockIsSharedByItsSegmentHandle) {
    auto* sharing = dynamic_cast<SharingDevice*>(&device(gpu()));
    ASSERT_TRUE(sharing);
    Tensor first = on(gpu(), {1, 2, 3}), second = on(gpu(), {4, 5, 6});
    auto share = [&](const Tensor& x) { return sharing->share(*x.impl()->storage.get()); };
    SharedBlock one = share(first), two = share(second);
    EXPECT_EQ(one.handle, two.handle) << "of one segment";
    EXPECT_NE(one.offset, two.offset);
    EXPECT_THAT(floats_of(first), testing::ElementsAre(1, 2, 3)) << "it is still there";
    EXPECT_THAT(error_of<DeviceError>([&] { sharing->open_shared(one, nullptr); }),
                HasSubstr("cudaIpcOpenMemHandle"))
        << "the process that shares has it already";
    EXPECT_THAT(error_of<UserError>([&] {
                    sharing->open_shared({"short", 0, 4}, nullptr);
                }),
                HasSubstr("a handle has 64 bytes, got 5"));
}

// Runs of a program, and whether contexts record them.
struct Runs {
    explicit Runs(int level, bool enable_run_recording = true) {
        GraphBuilder builder;
        {
            InterpreterScope scope(builder);
            Tensor x = builder.input({DType::f32, {3}, {}}, "x");
            builder.set_outputs({ops::cumsum(ops::exp(x), {.axis = 0})});
        }
        CompileOptions options;
        options.device = gpu();
        options.comp_node_seq_record_level = level;
        options.plan.records_runs = enable_run_recording;
        options.var_sanity_check_first_run = false;
        context = Context::create(Program::compile(builder.take(), options));
    }
    size_t launched_graphs(int runs) {
        size_t before = cuda::emulated::launched_graphs();
        for (int i = 0; i < runs; ++i) {
            context->run();
            context->wait();
        }
        return cuda::emulated::launched_graphs() - before;
    }
    std::unique_ptr<Context> context;
};

TEST(EmulatedCuda, RecordedRunsAreOneCall) {
    EXPECT_EQ(Runs(0).launched_graphs(5), 4U) << "the first goes step by step";
    EXPECT_EQ(Runs(1).launched_graphs(5), 4U);
    EXPECT_EQ(Runs(2).launched_graphs(5), 4U);
    EXPECT_EQ(Runs(0, false).launched_graphs(5), 0U);
    EXPECT_EQ(Runs(1, false).launched_graphs(5), 4U);
}

// The number of recorded runs among six; each has a large input and a large output.
size_t launched_graphs(const std::function<void(Executable&)>& run) {
    GraphBuilder builder;
    {
        InterpreterScope scope(builder);
        Tensor x = builder.input({DType::f32, {300000}, {}}, "x");
        builder.set_outputs({ops::exp(ops::add(ops::sin(x), x))});
    }
    CompileOptions options;
    options.device = gpu();
    options.var_sanity_check_first_run = false;
    Executable executable(builder.take(), options);
    size_t before = cuda::emulated::launched_graphs();
    for (int i = 0; i < 6; ++i) run(executable);
    return cuda::emulated::launched_graphs() - before;
}

TEST(EmulatedCuda, RunsAreRecordedWhenTheirMemoryRepeats) {
    std::vector<Tensor> places, kept;
    for (int i = 0; i < 6; ++i) places.push_back(on(gpu(), std::vector<float>(300000, float(i) / 8)));
    EXPECT_EQ(launched_graphs([&](auto& executable) { executable.run({places.data(), 1}); }), 4U);
    size_t i = 0;
    auto alternate = [&](auto& executable) { executable.run({&places[i++ % 2], 1}); };
    EXPECT_EQ(launched_graphs(alternate), 2U) << "each place was seen twice before";
    i = 0;
    EXPECT_EQ(launched_graphs([&](auto& executable) { executable.run({&places[i++], 1}); }), 0U);
    auto keep = [&](auto& executable) { kept.push_back(executable.run({places.data(), 1})[0]); };
    EXPECT_EQ(launched_graphs(keep), 0U) << "results are held";
}

TEST(EmulatedCuda, FaultInARecordedRunNamesTheGraph) {
    Runs runs(1);
    runs.launched_graphs(2);
    cuda::emulated::fail_next(cudaErrorIllegalAddress);
    std::string message = error_of<DeviceError>([&] { runs.launched_graphs(1); });
    EXPECT_THAT(message, AllOf(HasSubstr("is lost to this process"), HasSubstr("as it was recorded")));
    cuda::emulated::revive();
    EXPECT_EQ(runs.launched_graphs(2), 2U);
}

TEST(EmulatedCuda, UnrecordableRunsExecuteStepByStep) {
    Runs runs(1);
    cuda::emulated::break_next_capture();
    EXPECT_EQ(runs.launched_graphs(4), 0U);
}

// Three regions with sines of their own between products, and what else a test adds.
Graph regions(double number, bool with_sum = false) {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    Tensor x = builder.input({DType::f32, {4, 4}, {}}, "x"), y = x;
    for (int i = 0; i < 3; ++i)
        y = ops::matmul(ops::sin(ops::add(y, scalar_tensor(number + i, DType::f32, host_device))), x);
    y = ops::exp(ops::cos(y));
    builder.set_outputs({with_sum ? ops::sum(ops::mul(y, y), {.axes = {0}}) : y});
    return builder.take();
}

std::shared_ptr<const Program> on_gpu(Graph graph, bool measures = false) {
    CompileOptions options;
    options.device = gpu();
    options.select.profile = measures;
    return Program::compile(std::move(graph), options);
}

size_t texts_compiled(const std::function<void()>& work) {
    size_t before = cuda::emulated::compiled_texts();
    work();
    return cuda::emulated::compiled_texts() - before;
}

TEST(EmulatedCuda, FusedKernelsOfAProgramCompileTogether) {
    EXPECT_EQ(texts_compiled([] { on_gpu(regions(0.5)); }), 1U);
    EXPECT_EQ(texts_compiled([] { on_gpu(regions(0.5)); }), 0U) << "its kernels are there";
    EXPECT_EQ(texts_compiled([] { on_gpu(regions(0.5, true)); }), 1U);
    EXPECT_EQ(texts_compiled([] { on_gpu(regions(7.5), true); }), 1U) << "before any of them is measured";
    EXPECT_EQ(texts_compiled([] {
                  Tensor x = ops::reshape(on(host_device, std::vector<float>(16, 1)), {.shape = {4, 4}});
                  auto context = Context::create(on_gpu(regions(0.5)));
                  context->fill_inputs({&x, 1});
                  context->run();
                  context->wait();
              }),
              0U)
        << "nothing is left for the runs";
}

TEST(EmulatedCuda, NothingIsFusedWithoutNvrtc) {
    Tensor x = ops::reshape(on(host_device, std::vector<float>(16, 0.25F)), {.shape = {4, 4}});
    auto values_of = [&](const std::shared_ptr<const Program>& program) {
        auto context = Context::create(program);
        context->fill_inputs({&x, 1});
        context->run();
        context->wait();
        return floats_of(context->copy_output(0));
    };
    auto fused = on_gpu(regions(0.5));
    cuda::emulated::hide_text_compiler(true);
    std::shared_ptr<const Program> plain;
    EXPECT_EQ(texts_compiled([&] { plain = on_gpu(regions(2.5)); }), 0U);
    EXPECT_GT(plain->steps().size(), fused->steps().size()) << "each operator has its own kernel";
    plain = on_gpu(regions(0.5));
    cuda::emulated::hide_text_compiler(false);
    EXPECT_THAT(values_of(plain), testing::Pointwise(testing::FloatNear(1e-5F), values_of(fused)));
}

TEST(EmulatedCuda, MissingLibrariesLeaveOwnKernels) {
    auto is_of_library = [](std::string_view name) {
        return name.starts_with("cudnn") || name.starts_with("cublaslt");
    };
    GraphBuilder builder;
    {
        InterpreterScope scope(builder);
        Tensor x = builder.input({DType::f32, {2, 3, 8, 8}, {}}, "x");
        Tensor w = builder.input({DType::f32, {4, 3, 3, 3}, {}}, "w");
        Tensor y = ops::reshape(ops::conv2d(x, w), {.shape = {2, 144}});
        builder.set_outputs({ops::matmul(y, y, {.transpose_b = true})});
    }
    Graph graph = builder.take();
    auto algorithms = [&] {
        auto program = on_gpu(graph);
        std::vector<std::string> names;
        for (auto& step : program->steps()) names.push_back(step.algorithm);
        return names;
    };
    cuda::emulated::hide_libraries(true);
    auto without = algorithms();
    const TensorSpecs factors(2, {DType::f32, {4, 4}, {}}), product(1, {DType::f32, {4, 4}, {}});
    ops::Matmul::Params params;
    Problem problem = make_problem(ops::Matmul::info, &params, factors, product);
    problem.device = gpu();
    for (auto& algorithm : find_kernels(ops::Matmul::info, gpu()))
        if (is_of_library(algorithm.name)) {
            EXPECT_THAT(algorithm.supports(problem).reason,
                        testing::AnyOf(HasSubstr("cannot open libcublasLt.so.13"),
                                       HasSubstr("this build has none of NVIDIA's libraries")));
        }
    cuda::emulated::hide_libraries(false);
    EXPECT_TRUE(std::ranges::none_of(without, is_of_library)) << testing::PrintToString(without);
}

TEST(EmulatedCuda, ImmediateRunsDoNotWaitForTheCompiler) {
    EXPECT_EQ(texts_compiled([] {
                  Tensor x = on(gpu(), {1, 2, 3});
                  floats_of(ops::sum(ops::cos(ops::exp(ops::add(x, x))), {.axes = {0}}));
              }),
              0U);
}

// A large value is read at both ends, and all others are alive between.
Graph valley(int64_t elements) {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    Tensor early = ops::sin(builder.input({DType::f32, {elements}, {}}, "x"));
    Tensor wide = ops::concat(Tensors{ops::exp(early), ops::neg(early)}, {.axis = 0});
    Tensor narrow = ops::max(ops::cos(wide), {.axes = {0}, .keepdims = true});
    builder.set_outputs({ops::mul(early, narrow)});
    return builder.take();
}

TEST(EmulatedCuda, SwappedValuesUsePageLockedMemory) {
    constexpr int64_t elements = 1 << 19;
    Tensor x = on(host_device, std::vector<float>(elements, 0.5F));
    CompileOptions options;
    options.device = gpu();
    // Neither fused, where the value would be computed twice, nor in place.
    options.level = 0;
    options.plan.in_place = false;
    options.enable_memory_swap = true;
    auto run = [&](const CompileOptions& o) {
        auto context = Context::create(Program::compile(valley(elements), o));
        context->fill_inputs({&x, 1});
        context->run();
        context->wait();
        return std::pair(floats_of(context->copy_output(0)), device(gpu()).memory().page_locked);
    };
    size_t before = device(gpu()).memory().page_locked;
    auto [values, locked] = run(options);
    EXPECT_EQ(locked, before + elements * sizeof(float));
    EXPECT_EQ(device(gpu()).memory().page_locked, before);
    options.enable_memory_swap = false;
    EXPECT_EQ(run(options), std::pair(values, before));
}

TEST(EmulatedCudaDeathTest, TheHostCannotReadItsMemory) {
    Tensor x = on(gpu(), {1});
    EXPECT_DEATH(static_cast<volatile const float*>(x.address())[0], "");
}

TEST(EmulatedCudaDeathTest, ForkedChildGetsAnError) {
    Tensor x = on(gpu(), {1});
    EXPECT_EXIT(
        {
            std::string message = error_of<DeviceError>([&] { ops::add(x, x); });
            std::exit(message.find("child of fork()") != std::string::npos ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace mge::test
