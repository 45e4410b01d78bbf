// SPDX-License-Identifier: Apache-2.0
#include "tests/lite/c_models.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "libmge/device/device.h"
#include "libmge/graph/builder.h"
#include "libmge/model/export/onnx/onnx.h"
#include "libmge/model/model.h"
#include "libmge/model/open.h"
#include "libmge/model/pack.h"
#include "libmge/ops/all.h"
#include "tests/new_folder.h"

namespace {

namespace ops = mge::ops;
using mge::Tensor;

// 0, or -1 and the reason on standard error.
template <class Work>
int attempt(Work&& work) {
    try {
        work();
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return -1;
    }
}

mge::TensorSpec f32(const mge::Shape& shape) { return {mge::DType::f32, shape, {}}; }

Tensor weights(const mge::Shape& shape) {
    std::vector<float> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(int(i * 7 % 23) - 11) / 40;
    return mge::tensor_from_host(f32(shape), values.data(), mge::host_device);
}

// The outputs by their names.
void write(const char* path, mge::GraphBuilder& builder,
           const std::vector<std::pair<const char*, Tensor>>& named) {
    mge::Tensors outputs;
    for (auto& [name, output] : named) {
        builder.graph().value(builder.value_of(output)).name = name;
        outputs.push_back(output);
    }
    builder.set_outputs(outputs);
    mge::Model model;
    model.graph = builder.take();
    mge::write_model(path, model);
}

std::string content_of(const char* path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int make_folder(char* path, size_t size) {
    return attempt([&] {
        auto folder = mge::new_folder("mge_lite_c").string();
        if (folder.size() >= size) throw std::runtime_error("the folder's name is too long");
        std::memcpy(path, folder.c_str(), folder.size() + 1);
    });
}

void remove_folder(const char* path) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
}

int write_classifier(const char* path, int batch) {
    return attempt([&] {
        mge::GraphBuilder builder;
        Tensor x = builder.input(f32({batch, 3, 16, 16}), "data");
        mge::InterpreterScope scope(builder);
        x = ops::relu(ops::conv2d(x, weights({8, 3, 3, 3}), {.stride = {2, 2}, .padding = {1, 1}}));
        Tensor pooled = ops::mean(x, {.axes = {2, 3}, .keepdims = false});
        Tensor score = ops::softmax(ops::matmul(pooled, weights({8, 10})), {.axis = 1});
        write(path, builder, {{"score", score}, {"pooled", pooled}});
    });
}

int write_packed(const char* path, const char* model_path, const char* info_parser, const char* info) {
    return attempt([&] {
        std::string model = content_of(model_path), text = info;
        mge::PackedParts parts;
        parts.name = "net";
        parts.info_parser = info_parser;
        parts.cache_parser = mge::default_cache_parser;
        parts.info = std::as_bytes(std::span(text));
        parts.model = std::as_bytes(std::span(model));
        mge::write_packed(path, parts);
    });
}

int write_sum_and_difference(const char* path) {
    return attempt([&] {
        mge::GraphBuilder builder;
        Tensor a = builder.input(f32({4}), "a"), b = builder.input(f32({4}), "b");
        mge::InterpreterScope scope(builder);
        write(path, builder, {{"sum", ops::add(a, b)}, {"difference", ops::sub(a, b)}});
    });
}

int write_as_onnx(const char* path, const char* model_path) {
    return attempt([&] { mge::write_onnx(path, mge::open_model(model_path)); });
}
