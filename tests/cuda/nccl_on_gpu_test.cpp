// SPDX-License-Identifier: Apache-2.0
// NVIDIA's own NCCL in a group of one process: what one GPU can show. tests/comm/nccl_test.cpp has the calls
// and their order for more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/comm/nccl.h"
#include "libmge/mge.h"
#include "libmge/ops/collective/collective.h"
#include "tests/harness/check_op.h"
#include "tests/harness/other_device.h"

namespace mge::test {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::Field;
using testing::StartsWith;
using Mode = ops::CollectiveMode;

constexpr Mode modes[] = {
    Mode::all_reduce_sum, Mode::all_reduce_max, Mode::all_reduce_min,     Mode::reduce_sum, Mode::broadcast,
    Mode::all_gather,     Mode::gather,         Mode::reduce_scatter_sum, Mode::scatter,    Mode::all_to_all};

DeviceId gpu() { return other_device().id; }

Tensor numbers(DType dtype, int seed) {
    std::vector<double> values(12);
    for (size_t i = 0; i < values.size(); ++i) values[i] = double((int(i) * 7 + seed * 5) % 23);
    return make_tensor(dtype, {4, 3}, values);
}

// The exchange must wait for the work before it, and the work after it for the exchange. Values are exact.
Graph exchange_between_work(Mode mode, DType dtype) {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    Tensor x = builder.input({dtype, {4, 3}, {}}, "x", gpu());
    Tensor y = ops::collective(ops::add(x, x), {.mode = mode});
    builder.set_outputs({ops::add(y, x)});
    return builder.take();
}

class NcclOnGpu : public testing::Test {
protected:
    void SetUp() override {
        try {
            set_nccl(std::make_shared<Nccl>("libnccl.so.2", nullptr, 60s));
        } catch (const UserError& e) {
            GTEST_SKIP() << e.what();
        }
    }
    void TearDown() override { set_nccl(nullptr); }
};

TEST_F(NcclOnGpu, OneProcessGetsItsOwnValuesInEveryMode) {
    CompileOptions options;
    options.device = gpu();
    for (Mode mode : modes)
        for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::i32, DType::i8, DType::u8}) {
            SCOPED_TRACE(testing::Message() << EnumNames<Mode>::names[size_t(mode)] << " of " << dtype);
            auto program = Program::compile(exchange_between_work(mode, dtype), options);
            EXPECT_THAT(program->steps(), Contains(Field(&StepReport::algorithm, StartsWith("nccl"))));
            auto context = Context::create(program);
            for (int run = 0; run < 4; ++run) {
                Tensor x = numbers(dtype, run);
                context->fill_inputs({&x, 1});
                context->run();
                context->wait();
                Tensor three = ops::add(ops::add(x, x), x);
                EXPECT_EQ(values_of(to_host(context->copy_output(0))), values_of(to_host(three)))
                    << "run " << run;
            }
        }
}

TEST_F(NcclOnGpu, ExchangesALongTensor) {
    Tensor three = to_device(make_tensor(DType::f32, {1}, {3}), gpu());
    Tensor x = ops::broadcast_to(three, {.shape = {16 << 20}});
    Tensor y = ops::collective(ops::add(x, x), {.mode = Mode::all_reduce_sum});
    EXPECT_EQ(values_of(to_host(ops::max(y, {.axes = {0}}))), std::vector<double>{6});
    EXPECT_EQ(values_of(to_host(ops::min(y, {.axes = {0}}))), std::vector<double>{6});
}

TEST_F(NcclOnGpu, IsClosedAfterItsWork) {
    Tensor x = to_device(numbers(DType::f32, 1), gpu());
    for (int round = 0; round < 3; ++round) {
        Tensor y = ops::collective(x, {.mode = Mode::all_reduce_sum});
        set_nccl(nullptr);
        EXPECT_EQ(values_of(to_host(y)), values_of(to_host(x)));
        set_nccl(std::make_shared<Nccl>("libnccl.so.2", nullptr, 60s));
    }
}

}  // namespace
}  // namespace mge::test
