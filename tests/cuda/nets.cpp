// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/nets.h"

#include <cmath>
#include <random>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"

namespace mge::test {
namespace {

constexpr int64_t classes = 5;

// Makes parameters of a net, whose names its `output` knows.
class Maker {
public:
    explicit Maker(unsigned seed) : random_(seed) {}

    Tensor uniform(const Shape& shape, double low, double high) {
        std::uniform_real_distribution<double> value(low, high);
        std::vector<double> values(size_t(shape.numel()));
        for (auto& v : values) v = value(random_);
        return make_tensor(DType::f32, shape, values);
    }
    // `inputs`: elements that are added up for one of the result.
    void weight(const std::string& name, const Shape& shape, int64_t inputs) {
        double bound = std::sqrt(3.0 / double(inputs));
        parameters.add(name, uniform(shape, -bound, bound));
    }
    void convolution(const std::string& name, int64_t from, int64_t to, int64_t kernel) {
        weight(name, {to, from, kernel, kernel}, from * kernel * kernel);
    }
    void norm(const std::string& name, int64_t channels) {
        parameters.add(name + ".scale", uniform({channels}, 0.8, 1.2));
        parameters.add(name + ".bias", uniform({channels}, -0.1, 0.1));
        parameters.add(name + ".mean", uniform({channels}, -0.1, 0.1));
        parameters.add(name + ".var", uniform({channels}, 0.8, 1.2));
    }
    void linear(const std::string& name, int64_t from, int64_t to) {
        weight(name, {from, to}, from);
        parameters.add(name + ".bias", uniform({to}, -0.1, 0.1));
    }
    Tensor whole_numbers(const Shape& shape, int64_t most) {
        std::vector<double> values(size_t(shape.numel()));
        for (auto& v : values) v = double(random_() % uint64_t(most));
        return make_tensor(DType::i32, shape, values);
    }
    Tensor targets(int64_t rows) {
        return ops::convert(ops::one_hot(whole_numbers({rows}, classes), {.num_classes = classes}),
                            {.dtype = DType::f32});
    }

    Parameters parameters;

private:
    std::mt19937 random_;
};

Tensor linear(const Parameters& p, const std::string& name, const Tensor& x) {
    return ops::add(ops::matmul(x, p.at(name)), p.at(name + ".bias"));
}
Tensor normed(const Parameters& p, const std::string& name, const Tensor& x, bool training) {
    return ops::batch_norm(x, p.at(name + ".scale"), p.at(name + ".bias"), p.at(name + ".mean"),
                           p.at(name + ".var"), {.training = training})[0];
}
Tensor pooled(const Tensor& x) { return ops::mean(x, {.axes = {2, 3}}); }

// --- as ResNet ---

Tensor residual_net(const Parameters& p, std::span<const Tensor> data, bool training) {
    auto convolved = [&](const Tensor& x, const std::string& name, ops::Conv2d::Params params) {
        return normed(p, name + ".norm", ops::conv2d(x, p.at(name), params), training);
    };
    Tensor x = ops::relu(convolved(data[0], "stem", {.padding = {1, 1}}));
    x = ops::max_pool2d(x, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
    Tensor inner = ops::relu(convolved(x, "same.first", {.padding = {1, 1}}));
    x = ops::relu(ops::add(convolved(inner, "same.second", {.padding = {1, 1}}), x));
    inner = ops::relu(convolved(x, "half.first", {.stride = {2, 2}, .padding = {1, 1}}));
    inner = convolved(inner, "half.second", {.padding = {1, 1}});
    x = ops::relu(ops::add(inner, convolved(x, "half.shortcut", {.stride = {2, 2}})));
    return linear(p, "classes", pooled(x));
}

Net make_residual_net() {
    Maker make(1);
    struct {
        const char* name;
        int64_t from, to, kernel;
    } convolutions[] = {{"stem", 3, 8, 3},        {"same.first", 8, 8, 3},    {"same.second", 8, 8, 3},
                        {"half.first", 8, 16, 3}, {"half.second", 16, 16, 3}, {"half.shortcut", 8, 16, 1}};
    for (auto& c : convolutions) {
        make.convolution(c.name, c.from, c.to, c.kernel);
        make.norm(std::string(c.name) + ".norm", c.to);
    }
    make.linear("classes", 16, classes);
    Tensors data{make.uniform({4, 3, 12, 12}, -1, 1)};
    return {"ResNet", make.parameters, data, make.targets(4), residual_net, [](Parameters& p) {
                return make_sgd(p, {.learning_rate = 0.05, .momentum = 0.9, .weight_decay = 1e-4});
            }};
}

// --- as MobileNet ---

Tensor mobile_net(const Parameters& p, std::span<const Tensor> data, bool) {
    Tensor x = ops::hswish(ops::conv2d(data[0], p.at("stem"), {.stride = {2, 2}, .padding = {1, 1}}));
    Tensor wide = ops::relu6(ops::conv2d(x, p.at("expand")));
    wide = ops::conv2d(wide, p.at("depthwise"), {.padding = {1, 1}, .groups = 16});
    Tensor excited = ops::hsigmoid(linear(p, "excite", ops::relu(linear(p, "squeeze", pooled(wide)))));
    wide = ops::mul(wide, ops::reshape(excited, {.shape = {4, 16, 1, 1}}));
    x = ops::add(x, ops::conv2d(ops::silu(wide), p.at("project")));
    x = ops::adaptive_avg_pool2d(x, {.height = 2, .width = 2});
    return linear(p, "classes", ops::reshape(x, {.shape = {4, 32}}));
}

Net make_mobile_net() {
    Maker make(2);
    make.convolution("stem", 3, 8, 3);
    make.convolution("expand", 8, 16, 1);
    make.weight("depthwise", {16, 1, 1, 3, 3}, 9);
    make.linear("squeeze", 16, 4);
    make.linear("excite", 4, 16);
    make.convolution("project", 16, 8, 1);
    make.linear("classes", 32, classes);
    Tensors data{make.uniform({4, 3, 13, 13}, -1, 1)};
    return {"MobileNet", make.parameters, data, make.targets(4), mobile_net, [](Parameters& p) {
                return make_sgd(p, {.learning_rate = 0.1, .momentum = 0.9, .nesterov = true});
            }};
}

// --- as a block of BERT or GPT ---

constexpr int64_t batch = 2, tokens = 6, width = 16, heads = 2, words = 11;

Tensor transformer(const Parameters& p, std::span<const Tensor> data, bool) {
    auto normed = [&](const std::string& name, const Tensor& x) {
        return ops::layer_norm(x, p.at(name + ".weight"), p.at(name + ".bias"))[0];
    };
    auto of_heads = [&](const std::string& name, const Tensor& x) {
        Tensor y = ops::reshape(linear(p, name, x), {.shape = {batch, tokens, heads, width / heads}});
        return ops::transpose(y, {.pattern = {0, 2, 1, 3}});
    };
    Tensor x = ops::add(ops::embedding(p.at("words"), data[0]), p.at("places"));
    Tensor y = normed("before", x);
    Tensor scores = ops::matmul(of_heads("query", y), of_heads("key", y), {.transpose_b = true});
    Tensor shares = ops::softmax(ops::mul(scores, p.at("scale")), {.axis = -1});
    Tensor mixed = ops::transpose(ops::matmul(shares, of_heads("value", y)), {.pattern = {0, 2, 1, 3}});
    x = ops::add(x, linear(p, "mix", ops::reshape(mixed, {.shape = {batch, tokens, width}})));
    x = ops::add(x, linear(p, "narrow", ops::gelu(linear(p, "wide", normed("behind", x)))));
    return linear(p, "classes", ops::reshape(x, {.shape = {batch * tokens, width}}));
}

Net make_transformer() {
    Maker make(3);
    make.weight("words", {words, width}, 3);
    make.weight("places", {tokens, width}, 3);
    make.parameters.add("scale", make_tensor(DType::f32, {1}, {std::sqrt(double(heads) / width)}));
    for (const char* name : {"before", "behind"}) {
        make.parameters.add(std::string(name) + ".weight", make.uniform({width}, 0.8, 1.2));
        make.parameters.add(std::string(name) + ".bias", make.uniform({width}, -0.1, 0.1));
    }
    for (const char* name : {"query", "key", "value", "mix"}) make.linear(name, width, width);
    make.linear("wide", width, 4 * width);
    make.linear("narrow", 4 * width, width);
    make.linear("classes", width, classes);
    Tensors data{make.whole_numbers({batch, tokens}, words)};
    return {
        "Transformer", make.parameters, data, make.targets(batch * tokens), transformer, [](Parameters& p) {
            return make_adam(p, {.learning_rate = 0.01, .weight_decay = 0.01, .decoupled = true});
        }};
}

// --- a recurrent net ---

constexpr int64_t steps = 5, rows = 3, features = 7, state = 8;

Tensor lstm(const Parameters& p, std::span<const Tensor> data, bool) {
    Tensor hidden = data[1], cell = data[2];
    for (auto& part : ops::split(data[0], {.axis = 0, .sizes = std::vector<int64_t>(size_t(steps), 1)})) {
        Tensor x = ops::reshape(part, {.shape = {rows, features}});
        Tensor all = ops::add(linear(p, "input", x), ops::matmul(hidden, p.at("state")));
        Tensors gates = ops::split(all, {.axis = 1, .sizes = {state, state, state, state}});
        cell = ops::add(ops::mul(ops::sigmoid(gates[0]), cell),
                        ops::mul(ops::sigmoid(gates[1]), ops::tanh(gates[2])));
        hidden = ops::mul(ops::sigmoid(gates[3]), ops::tanh(cell));
    }
    return linear(p, "classes", hidden);
}

Net make_lstm() {
    Maker make(4);
    make.linear("input", features, 4 * state);
    make.weight("state", {state, 4 * state}, state);
    make.linear("classes", state, classes);
    Tensors data{make.uniform({steps, rows, features}, -1, 1), make.uniform({rows, state}, -1, 1),
                 make.uniform({rows, state}, -1, 1)};
    return {"LSTM", make.parameters,
            data,   make.targets(rows),
            lstm,   [](Parameters& p) { return make_adam(p, {.learning_rate = 0.01}); }};
}

// --- as examples/quickstart has it ---

Tensor digit_net(const Parameters& p, std::span<const Tensor> data, bool training) {
    auto convolved = [&](const Tensor& x, const std::string& name) {
        Tensor y = ops::add(ops::conv2d(x, p.at(name), {.padding = {1, 1}}), p.at(name + ".bias"));
        return ops::relu(normed(p, name + ".norm", y, training));
    };
    Tensor x = ops::max_pool2d(convolved(convolved(data[0], "first"), "second"),
                               {.kernel = {2, 2}, .stride = {2, 2}});
    x = ops::reshape(x, {.shape = {4, 32 * 4 * 4}});
    if (training) x = ops::dropout(x, data[1], {.probability = 0.2})[0];
    return linear(p, "classes", x);
}

Net make_digit_net() {
    Maker make(5);
    auto convolution = [&](const std::string& name, int64_t from, int64_t to) {
        make.convolution(name, from, to, 3);
        make.parameters.add(name + ".bias", make.uniform({1, to, 1, 1}, -0.1, 0.1));
        make.norm(name + ".norm", to);
    };
    convolution("first", 1, 16);
    convolution("second", 16, 32);
    make.linear("classes", 32 * 4 * 4, classes);
    Tensors data{make.uniform({4, 1, 8, 8}, 0, 1), tensor_of<int32_t>({2}, {5, 0})};
    return {"Digits", make.parameters, data, make.targets(4), digit_net, [](Parameters& p) {
                return make_sgd(p, {.learning_rate = 0.02, .momentum = 0.9, .weight_decay = 1e-4});
            }};
}

// --- as U-Net: a class for each pixel ---

constexpr int64_t images = 2, side = 8;

Tensor u_net(const Parameters& p, std::span<const Tensor> data, bool training) {
    auto convolved = [&](const Tensor& x, const std::string& name) {
        return ops::relu(
            normed(p, name + ".norm", ops::conv2d(x, p.at(name), {.padding = {1, 1}}), training));
    };
    Tensor seen = convolved(data[0], "stem");
    Tensor x = convolved(ops::max_pool2d(seen, {.kernel = {2, 2}, .stride = {2, 2}}), "down");
    x = ops::conv2d_backward_data(p.at("up"), x, {.stride = {2, 2}});
    x = ops::conv2d(convolved(ops::concat({x, seen}, {.axis = 1}), "merge"), p.at("head"));
    x = ops::transpose(x, {.pattern = {0, 2, 3, 1}});
    return ops::reshape(x, {.shape = {images * side * side, classes}});
}

Net make_u_net() {
    Maker make(6);
    auto convolution = [&](const std::string& name, int64_t from, int64_t to) {
        make.convolution(name, from, to, 3);
        make.norm(name + ".norm", to);
    };
    convolution("stem", 3, 6);
    convolution("down", 6, 12);
    make.weight("up", {12, 6, 2, 2}, 12);
    convolution("merge", 12, 6);
    make.convolution("head", 6, classes, 1);
    Tensors data{make.uniform({images, 3, side, side}, -1, 1)};
    return {"UNet", make.parameters,
            data,   make.targets(images * side * side),
            u_net,  [](Parameters& p) { return make_sgd(p, {.learning_rate = 0.1, .momentum = 0.9}); }};
}

}  // namespace

std::vector<Net> make_nets() {
    return {make_residual_net(), make_mobile_net(), make_transformer(),
            make_lstm(),         make_digit_net(),  make_u_net()};
}

}  // namespace mge::test
