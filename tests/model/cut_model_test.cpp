// SPDX-License-Identifier: Apache-2.0
// Model files that another process cuts short while their weights are used from where they are mapped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "libmge/mge.h"
#include "tests/new_folder.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Tensor ramp(const Shape& shape) {
    std::vector<float> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(int(i * 7 % 23) - 11) / 40;
    return constant(shape, values);
}

// The weight of the product is packed for each shape; the sum reads its own in each run.
Graph product() {
    return record({f32({4, 256})}, [](const Tensors& x) {
        return Tensors{ops::matmul(x[0], ramp({256, 512}))};
    });
}
Graph sum() {
    return record({f32({1, 65536})}, [](const Tensors& x) { return Tensors{ops::add(x[0], ramp({65536}))}; });
}

class CutModel : public testing::TestWithParam<int> {
protected:
    NewFolder folder_{"mge_cut_model"};
    std::string path_ = folder_.file("model.mge");
    CompileOptions options_;
    void SetUp() override { options_.async_exec_level = GetParam(); }
    Graph opened(const Graph& graph) {
        write_model(path_, Model{graph});
        return open_model(path_).graph;
    }
    void cut() { std::filesystem::resize_file(path_, 8192); }
    auto is_truncation_error() {
        return ThrowsMessage<ModelError>(HasSubstr("model.mge' was cut while it was in use"));
    }
};

TEST_P(CutModel, IsAnErrorOfTheNextPlan) {
    Executable net(opened(product()), options_);
    Tensor x = ramp({4, 256}), before = net.run(Tensors{x})[0];
    cut();
    EXPECT_THAT([&] { net.run(Tensors{ramp({7, 256})}); }, is_truncation_error());
    EXPECT_THAT([&] { net.run(Tensors{ramp({7, 256})}); }, is_truncation_error()) << "and of those behind it";
}

TEST_P(CutModel, IsAnErrorOfRunsThatReadIt) {
    auto program = Program::compile(opened(sum()), options_);
    auto context = Context::create(program);
    auto run = [&] {
        context->fill_inputs(Tensors{ramp({1, 65536})});
        context->run();
        context->wait();
    };
    run();
    cut();
    EXPECT_THAT(run, is_truncation_error());
    EXPECT_THAT(run, is_truncation_error());
}

INSTANTIATE_TEST_SUITE_P(Levels, CutModel, testing::Values(0, 1));

}  // namespace
}  // namespace mge::test
