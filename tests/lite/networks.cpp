// SPDX-License-Identifier: Apache-2.0
#include "tests/lite/networks.h"

#include <cmath>

#include "libmge/device/device.h"
#include "libmge/lite/layout.h"
#include "libmge/mge.h"
#include "libmge/model/model.h"
#include "libmge/ops/all.h"
#include "tests/new_folder.h"

namespace lite::test {
namespace {

namespace ops = mge::ops;
using mge::DType;
using mge::Shape;
using mge::TensorSpec;

TensorSpec f32(const Shape& shape) { return {DType::f32, shape, {}}; }

mge::Tensor ramp(const Shape& shape, int seed) {
    std::vector<float> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(int((i + size_t(seed)) * 7 % 23) - 11) / 40;
    return mge::tensor_from_host(f32(shape), values.data(), mge::host_device);
}

}  // namespace

mge::Model make_model(const std::vector<ModelInput>& inputs, const ModelBody& body) {
    mge::GraphBuilder builder;
    mge::Tensors symbols;
    for (auto& input : inputs) symbols.push_back(builder.input(input.spec, input.name));
    mge::InterpreterScope scope(builder);
    mge::Tensors results;
    for (auto& [name, result] : body(symbols)) {
        auto& value = builder.graph().value(builder.value_of(result));
        if (value.name.empty()) value.name = name;
        results.push_back(result);
    }
    builder.set_outputs(results);
    mge::Model model;
    model.graph = builder.take();
    return model;
}

ModelPath::ModelPath(const mge::Model& model) : folder_(mge::new_folder("mge_lite_model")) {
    path_ = beside("model.mge");
    mge::write_model(path_, model);
}

ModelPath::~ModelPath() { std::filesystem::remove_all(folder_); }

std::string ModelPath::beside(const std::string& name) const { return (folder_ / name).string(); }

const std::string& classifier() {
    static const ModelPath model(make_model({{"data", f32({1, 3, 32, 32})}}, [](const mge::Tensors& x) {
        auto convolve = [](const mge::Tensor& t, int64_t from, int64_t to, int64_t stride) {
            auto y = ops::conv2d(t, ramp({to, from, 3, 3}, int(to)),
                                 {.stride = {stride, stride}, .padding = {1, 1}});
            return ops::relu(ops::add(y, ramp({1, to, 1, 1}, 3)));
        };
        auto y = convolve(convolve(x[0], 3, 16, 2), 16, 32, 2);
        y = ops::mean(y, {.axes = {2, 3}, .keepdims = false});
        y = ops::softmax(ops::matmul(y, ramp({32, 10}, 5)), {.axis = 1});
        return std::vector<std::pair<std::string, mge::Tensor>>{{"score", y}};
    }));
    return model.path();
}

const std::string& sum_and_difference() {
    static const ModelPath model(make_model({{"a", f32({4})}, {"b", f32({4})}}, [](const mge::Tensors& x) {
        return std::vector<std::pair<std::string, mge::Tensor>>{{"sum", ops::add(x[0], x[1])},
                                                                {"difference", ops::sub(x[0], x[1])}};
    }));
    return model.path();
}

const std::string& product() {
    static const ModelPath model(make_model({{"x", f32({2, 2})}}, [](const mge::Tensors& x) {
        std::vector<float> matrix{0, 1, 1, 1};
        auto w = mge::tensor_from_host(f32({2, 2}), matrix.data(), mge::host_device);
        return std::vector<std::pair<std::string, mge::Tensor>>{{"y", ops::matmul(x[0], w)}};
    }));
    return model.path();
}

const std::string& picker() {
    static const ModelPath model(make_model({{"x", f32({6})}}, [](const mge::Tensors& x) {
        auto zero = ramp({}, 0);
        auto positive = ops::cond_take(x[0], ops::greater(x[0], ops::sub(zero, zero)));
        return std::vector<std::pair<std::string, mge::Tensor>>{{"positive", positive[0]},
                                                                {"twice", ops::add(x[0], x[0])}};
    }));
    return model.path();
}

const std::string& comparison() {
    static const ModelPath model(make_model({{"x", {DType::f64, {2}, {}}}}, [](const mge::Tensors& x) {
        return std::vector<std::pair<std::string, mge::Tensor>>{
            {"is_positive", ops::greater(x[0], ops::sub(x[0], x[0]))},
            {"twice", ops::add(x[0], x[0])},
            {"narrow", ops::convert(x[0], {.dtype = DType::bf16})}};
    }));
    return model.path();
}

const std::string& reshaper() {
    static const ModelPath model(
        make_model({{"x", f32({6})}, {"shape", {DType::i32, {2}, {}}}}, [](const mge::Tensors& x) {
            return std::vector<std::pair<std::string, mge::Tensor>>{
                {"reshaped", ops::reshape(ops::add(x[0], x[0]), x[1])}};
        }));
    return model.path();
}

std::shared_ptr<Network> load(const std::string& path, const Config& config, const NetworkIO& io) {
    auto network = std::make_shared<Network>(config, io);
    network->load_model(path);
    return network;
}

std::vector<std::string> algorithms_of(Network& network) {
    std::vector<std::string> names;
    for (auto& step : impl_of(network).program().steps()) names.push_back(step.algorithm);
    return names;
}

void fill(Network& network, const std::string& name, int seed) {
    auto tensor = network.get_io_tensor(name, LITE_INPUT);
    auto* data = static_cast<float*>(tensor->get_memory_ptr());
    size_t n = tensor->get_tensor_total_size_in_byte() / sizeof(float);
    for (size_t i = 0; i < n; ++i) data[i] = std::sin(float(i) * 0.37f + float(seed));
}

void run(Network& network) {
    network.forward();
    network.wait();
}

std::vector<float> output(Network& network, const std::string& name) {
    return values_of<float>(*network.get_io_tensor(name, LITE_OUTPUT));
}

std::vector<float> expected(Network& network, const std::string& name) {
    mge::Graph graph = impl_of(network).model()->graph();
    mge::Tensors inputs;
    for (auto& name_of_input : network.get_all_input_name()) {
        auto tensor = network.get_io_tensor(name_of_input, LITE_INPUT);
        inputs.push_back(
            mge::tensor_from_host(spec_of(tensor->get_layout()), tensor->get_memory_ptr(), mge::host_device));
    }
    size_t index = 0;
    while (graph.value(graph.outputs().at(index)).name != name) ++index;
    mge::CompileOptions options;
    options.threads = 1;
    mge::Executable executable(std::move(graph), options);
    mge::Tensor result = executable.run(inputs)[index];
    auto* data = static_cast<const float*>(result.data());
    return {data, data + result.spec().numel()};
}

void expect_near(const std::vector<float>& got, const std::vector<float>& wanted, float tolerance) {
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], tolerance) << i;
}

}  // namespace lite::test
