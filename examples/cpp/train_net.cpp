// SPDX-License-Identifier: Apache-2.0
// Trains a small network to predict whether x·y is positive, with a checkpoint in the middle, and writes it
// as a model.
//
//     train_net FOLDER
#include <libmge/mge.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace mge;

constexpr int64_t side = 8, points = side * side, hidden = 16, classes = 2;
constexpr int steps = 120;

Tensor tensor(const Shape& shape, const std::vector<float>& values) {
    return tensor_from_host({DType::f32, shape, {}}, values.data());
}

// A grid of points, and for each the class that it belongs to: 1 in its column, 0 in the other.
struct Data {
    std::vector<float> x, labels;
    Data() {
        for (int64_t i = 0; i < points; ++i) {
            auto coordinate = [](int64_t k) { return (float(k) + 0.5F) * 2 / float(side) - 1; };
            float a = coordinate(i / side), b = coordinate(i % side);
            x.insert(x.end(), {a, b});
            labels.insert(labels.end(), {a * b > 0 ? 0.F : 1.F, a * b > 0 ? 1.F : 0.F});
        }
    }
};

// Spread out, and the same in every run.
Tensor start_value(const Shape& shape, double scale) {
    std::vector<float> values;
    for (int64_t i = 0; i < shape.numel(); ++i)
        values.push_back(float(scale * std::sin(12.9898 * double(i + 1))));
    return tensor(shape, values);
}

Parameters make_network() {
    Parameters network;
    network.add("first.weight", start_value({2, hidden}, 1));
    network.add("first.bias", start_value({hidden}, 0.1));
    network.add("second.weight", start_value({hidden, classes}, 0.5));
    network.add("second.bias", start_value({classes}, 0));
    return network;
}

// At once, recorded on a tape, or into a graph: it is the same function.
Tensor scores(const Parameters& p, const Tensor& x) {
    Tensor h = ops::tanh(ops::add(ops::matmul(x, p.at("first.weight")), p.at("first.bias")));
    return ops::add(ops::matmul(h, p.at("second.weight")), p.at("second.bias"));
}

// Cross entropy, averaged over the points.
Tensor loss(const Parameters& p, const Tensor& x, const Tensor& labels) {
    Tensor log_probability = ops::softmax(scores(p, x), {.axis = 1, .log = true});
    Tensor of_label = ops::sum(ops::mul(log_probability, labels), {.axes = {1}});
    return ops::neg(ops::mean(of_label));
}

void train(Parameters& network, Optimizer& optimizer, const Data& data, int from, int to) {
    Tensor x = tensor({points, 2}, data.x), labels = tensor({points, classes}, data.labels);
    for (int step = from; step < to; ++step) {
        auto [value, gradients] =
            differentiate(network, [&](const Parameters& p) { return loss(p, x, labels); });
        optimizer.step(gradients);
        if (step % 20 == 0) std::printf("step %d loss %.6f\n", step, double(*to_host(value).data<float>()));
    }
}

double accuracy(const Parameters& network, const Data& data) {
    Tensor s = to_host(scores(network, tensor({points, 2}, data.x)));
    int right = 0;
    for (size_t i = 0; i < size_t(points); ++i) {
        const float* row = s.data<float>() + i * classes;
        right += (row[1] > row[0]) == (data.labels[i * classes + 1] > 0);
    }
    return double(right) / double(points);
}

// The network as a graph with an input and an output, which every tool can run.
void write_network(const Parameters& network, const std::string& path) {
    GraphBuilder builder;
    Tensor x = builder.input({DType::f32, {points, 2}, {}}, "x");
    {
        InterpreterScope scope(builder);
        builder.set_outputs({ops::softmax(scores(network, x), {.axis = 1})});
    }
    write_model(path, {.graph = builder.take()});
}

void run(const std::string& folder) {
    const Data data;
    Parameters network = make_network();
    auto adam = make_adam(network, {.learning_rate = 0.05});
    train(network, *adam, data, 0, steps / 2);
    save_checkpoint(folder + "/half.mge", network, adam.get(), {{"step", std::to_string(steps / 2)}});

    // As another process would go on.
    Parameters resumed = make_network();
    auto optimizer = make_adam(resumed, {});
    auto notes = load_checkpoint(folder + "/half.mge", resumed, optimizer.get());
    train(resumed, *optimizer, data, std::stoi(notes.at("step")), steps);

    std::printf("accuracy %.4f\n", accuracy(resumed, data));
    write_network(resumed, folder + "/net.mge");
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 2) {
        std::cerr << "usage: train_net FOLDER\n";
        return 2;
    }
    run(argv[1]);
    return 0;
} catch (const mge::Error& error) {
    std::cerr << error.what() << '\n';
    return int(error.code());
}
