// SPDX-License-Identifier: Apache-2.0
// Memory of one queue that another one reads: the block belongs to its queue, which may reuse it as soon as
// it is freed, so a reader on another queue must make that queue wait. Emulated streams are interleaved by
// many seeds; on a GPU they run in any order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "libmge/device/gpu.h"
#include "libmge/device/stream_sharing.h"
#include "libmge/device/upload.h"
#include "libmge/mge.h"
#include "tests/cuda/emulation.h"
#include "tests/harness/check_op.h"
#include "tests/harness/other_device.h"
#include "tests/shadow/values.h"

namespace mge::test {
namespace {

using testing::Each, testing::FloatNear, testing::Pointwise;

DeviceId queue_number(int stream, int index = 0) {
    DeviceId id = other_device().id;
    id.stream = uint8_t(stream);
    id.index = uint8_t(index);
    return id;
}

Tensor filled(float value, DeviceId id) { return on(id, std::vector<float>(1000, value)); }

Tensor numbers(const Shape& shape) {
    std::vector<double> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = double(i % 17) / 16 - .5;
    return make_tensor(DType::f32, shape, values);
}

// The next allocation on a queue reuses memory that was freed, and overwrites it.
void write_over_freed_blocks(DeviceId id) {
    for (int i = 0; i < 4; ++i) ops::add(filled(-1, id), filled(-2, id));
}

TEST(CudaStreams, BlockIsNotReusedDuringACopy) {
    for_each_mix([&](unsigned seed) {
        DeviceId here = queue_number(1), there = queue_number(2);
        Tensor moved;
        {
            Tensor x = ops::mul(filled(3, here), filled(2, here));
            moved = to_device(x, there);
        }
        write_over_freed_blocks(here);
        EXPECT_THAT(floats_of(ops::add(moved, moved)), Each(12)) << "seed " << seed;
    });
}

TEST(CudaStreams, BlockIsNotReusedDuringAPeerCopy) {
    if (gpus().count < 2) GTEST_SKIP() << "there is one GPU";
    for_each_mix([&](unsigned seed) {
        DeviceId here = queue_number(1), there = queue_number(1, 1);
        Tensor moved = to_device(ops::mul(filled(3, here), filled(2, here)), there);
        write_over_freed_blocks(here);
        EXPECT_THAT(floats_of(moved), Each(6)) << "seed " << seed;
    });
}

// As other libraries' streams do, by their addresses; the default stream's address is its name.
TEST(CudaStreams, ForeignStreamsSynchroniseWithAQueue) {
    auto sharing = [](int number) {
        return dynamic_cast<StreamSharingQueue*>(&queue_of(queue_number(number)));
    };
    auto *one = sharing(1), *two = sharing(2);
    ASSERT_TRUE(one && two);
    EXPECT_GT(one->stream_address(), 2U);
    for_each_mix([&](unsigned seed) {
        for (bool is_synchronised : {false, true}) {
            Tensor x = ops::mul(filled(3, queue_number(1)), filled(2, queue_number(1)));
            Tensor y = empty_tensor(x.spec(), queue_number(2));
            // The default stream hands it on.
            if (is_synchronised) {
                one->let_wait(unnamed_stream);
                two->wait_for_stream(unnamed_stream);
            } else {
                one->let_wait(two->stream_address());
            }
            queue_of(y.device()).copy(y.address(), x.address(), x.spec().bytes());
            // The reader of x runs before the block's next owner.
            one->wait_for_stream(two->stream_address());
            x = {};
            write_over_freed_blocks(queue_number(1));
            EXPECT_THAT(floats_of(y), Each(6)) << "seed " << seed;
        }
    });
    two->finish();
    one->finish_device();
}

// As batches that are loaded ahead: who works has no part in the copies, and their memory goes round.
TEST(CudaStreams, UploadsOverlapAndArriveInTime) {
    DeviceId id = queue_number(1);
    size_t before = device(id).memory().allocated;
    for_each_mix([&](unsigned seed) {
        Tensor sum = filled(0, id);
        float expected = 0;
        Tensor ahead = upload_overlapped(make_tensor(DType::f32, {1000}, std::vector<double>(1000, 1)), id);
        for (int batch = 2; batch < 8; ++batch) {
            Tensor now = std::move(ahead);
            ahead = upload_overlapped(make_tensor(DType::f32, {1000}, std::vector<double>(1000, batch)), id);
            EXPECT_EQ(now.device(), id);
            sum = ops::add(sum, ops::mul(now, now));
            now = {};
            write_over_freed_blocks(id);
            expected += float((batch - 1) * (batch - 1));
        }
        EXPECT_THAT(floats_of(sum), Each(expected)) << "seed " << seed;
        EXPECT_THAT(floats_of(ahead), Each(7)) << "seed " << seed;
    });
    // Less where something of a test before has let go meanwhile.
    EXPECT_LE(device(id).memory().allocated, before);
    Tensor host = make_tensor(DType::f32, {2}, {1, 2});
    EXPECT_EQ(upload_overlapped(host, host_device).address(), host.address());
    EXPECT_EQ(upload_overlapped(make_tensor(DType::f32, {0}, {}), id).spec().numel(), 0);
}

// Both ways, round and round, with nothing that waits in between.
TEST(CudaStreams, ValuesPassBetweenQueues) {
    for_each_mix([&](unsigned seed) {
        Tensor x = filled(1, queue_number(1));
        for (int round = 0; round < 6; ++round) {
            Tensor y = to_device(ops::add(x, x), queue_number(2 + round % 2));
            write_over_freed_blocks(queue_number(1));
            x = to_device(ops::sub(y, filled(1, y.device())), queue_number(1));
            write_over_freed_blocks(queue_number(2));
        }
        EXPECT_THAT(floats_of(x), Each(1)) << "seed " << seed;
    });
}

// Steps on both queues, each of which needs what the other has just made.
Graph across(DeviceId one, DeviceId two) {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    Tensor x = builder.input({DType::f32, {1000}, {}}, "x");
    Tensor y = ops::to_device(x, {.device = one});
    for (int i = 0; i < 2; ++i) {
        Tensor there = ops::to_device(ops::add(y, y), {.device = two});
        y = ops::to_device(ops::tanh(ops::cumsum(there, {.axis = 0})), {.device = one});
        y = ops::add(ops::sort(y)[0], ops::to_device(ops::mean(there, {.axes = {0}}), {.device = one}));
    }
    builder.set_outputs({y});
    return builder.take();
}

TEST(CudaStreams, SeveralQueuesGiveEqualResults) {
    Tensor x = numbers({1000});
    auto expected = floats_of(Executable(across(queue_number(0), queue_number(0)), {}).run(Tensors{x})[0]);
    for (int level : {0, 1}) {
        Executable executable(across(queue_number(1), queue_number(2)), {.async_exec_level = level});
        for_each_mix([&](unsigned seed) {
            std::vector<Tensors> kept;
            for (int run = 0; run < 2; ++run) {
                kept.push_back(executable.run(Tensors{x}));
                write_over_freed_blocks(queue_number(1));
            }
            for (auto& outputs : kept)
                EXPECT_THAT(floats_of(outputs[0]), Pointwise(FloatNear(1e-5F), expected))
                    << "seed " << seed << ", level " << level;
        });
    }
}

// As `load_and_run --streams`: contexts of one program, whose weights they share, each in a thread.
TEST(CudaStreams, ContextsOfOneProgramShareItsQueue) {
    GraphBuilder builder;
    {
        InterpreterScope scope(builder);
        Tensor x = builder.input({DType::f32, {8, 16}, {}}, "x");
        Tensor weights = numbers({16, 16});
        for (int i = 0; i < 3; ++i) x = ops::softmax(ops::matmul(x, weights), {.axis = 1});
        builder.set_outputs({x});
    }
    CompileOptions options;
    options.device = queue_number(3);
    auto program = Program::compile(builder.take(), options);
    Tensor x = numbers({8, 16});
    auto run = [&](Context& context) {
        context.fill_inputs({&x, 1});
        context.run();
        context.wait();
        return floats_of(context.copy_output(0));
    };
    auto expected = run(*Context::create(program));
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&] {
            auto context = Context::create(program);
            for (int i = 0; i < 20; ++i) EXPECT_EQ(run(*context), expected);
        });
}

// Graphs are replayed while other queues are at work.
TEST(CudaStreams, RecordedRunsKeepTheirOrder) {
    GraphBuilder builder;
    {
        InterpreterScope scope(builder);
        Tensor x = builder.input({DType::f32, {1000}, {}}, "x");
        builder.set_outputs({ops::cumsum(ops::add(ops::sort(x)[0], x), {.axis = 0})});
    }
    CompileOptions options;
    options.device = queue_number(1);
    options.comp_node_seq_record_level = 1;
    options.var_sanity_check_first_run = false;
    Executable executable(builder.take(), options);
    for_each_mix([&](unsigned seed) {
        Tensor x = filled(1, queue_number(2));
        for (int run = 0; run < 4; ++run) {
            Tensor there =
                to_device(executable.run(Tensors{to_device(x, queue_number(1))})[0], queue_number(2));
            write_over_freed_blocks(queue_number(1));
            x = ops::div(there, there);
        }
        EXPECT_THAT(floats_of(x), Each(1)) << "seed " << seed;
    });
}

TEST(CudaStreams, AnEventIsReachedWhenItsWorkIsDone) {
    for_each_mix([&](unsigned seed) {
        Queue &here = queue_of(queue_number(1)), &there = queue_of(queue_number(2));
        StorageRef from = here.allocate(4096), to = there.allocate(4096);
        here.fill(from->data, 0, 4096);
        here.fill(from->data, 7, 4096);
        there.wait_for(*here.record());
        there.copy(to->data, from->data, 4096);
        here.wait_for(*there.record());
        here.fill(from->data, 9, 4096);
        std::vector<unsigned char> got(4096);
        there.copy_to_host(got.data(), to->data, got.size());
        EXPECT_THAT(got, Each(7)) << "seed " << seed;
    });
}

}  // namespace
}  // namespace mge::test
