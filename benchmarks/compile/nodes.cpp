// SPDX-License-Identifier: Apache-2.0
// Cost of compiling per node of a graph, for graphs of growing size. The time is CPU time, so that other load
// matters less; it should not depend on the number of nodes.
//
//     benchmark_compile [MOST_NODES]          1e5 unless given; prints a Markdown table

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "libmge/device/device.h"
#include "libmge/mge.h"

namespace {

using namespace mge;

constexpr int64_t width = 8;

// A constant of the graph.
Tensor filled(const Shape& shape) {
    Tensor result = empty_tensor({DType::f32, shape, {}}, host_device);
    std::fill_n(result.data<float>(), shape.numel(), 0.5f);
    return result;
}

struct Net {
    const char* name;
    std::function<Tensor(const Tensor& x, int64_t nodes)> build;
};

// relu(x · w + b), layer by layer.
Tensor layers(Tensor x, int64_t nodes) {
    Tensor w = filled({width, width}), b = filled({width});
    for (int64_t i = 0; i < nodes / 3; ++i) x = ops::relu(ops::add(ops::matmul(x, w), b));
    return x;
}
// Nothing is fused or written in place.
Tensor products(Tensor x, int64_t nodes) {
    Tensor before = ops::matmul(x, x);
    for (int64_t i = 1; i < nodes; ++i) {
        Tensor next = ops::matmul(x, before);
        before = x;
        x = next;
    }
    return x;
}
// One long chain of elementwise operators.
Tensor chain(Tensor x, int64_t nodes) {
    for (int64_t i = 0; i < nodes; ++i) x = i % 2 ? ops::sin(x) : ops::exp(x);
    return x;
}
// The same of products, of which formulas are made.
Tensor factors(Tensor x, int64_t nodes) {
    Tensor w = filled({width, width});
    for (int64_t i = 0; i < nodes; ++i) x = ops::mul(x, w);
    return x;
}
// All values wait for the end, where one operator reads them.
Tensor fan(const Tensor& x, int64_t nodes) {
    Tensors parts;
    Tensor last = x;
    for (int64_t i = 0; i + 1 < nodes; ++i) parts.push_back(last = ops::matmul(x, last));
    return ops::concat(parts, {.axis = 0});
}
// Each fourth operator writes over what a later one reads, so that it has to wait.
Tensor updates(Tensor x, int64_t nodes) {
    Tensor row = filled({1, width});
    for (int64_t i = 0; i < nodes / 4; ++i) {
        Tensor before = ops::matmul(x, x);
        Tensor after = ops::set_slice(Tensors{before, row}, {.items = {0, 0, 1, INT64_MIN, 0}});
        x = ops::add(after, ops::tanh(before));
    }
    return x;
}

double cpu_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

Graph graph_of(const Net& net, int64_t nodes) {
    GraphBuilder builder;
    Tensor x = builder.input({DType::f32, {width, width}, {}}, "x");
    InterpreterScope scope(builder);
    builder.set_outputs({net.build(x, nodes)});
    return builder.take();
}

}  // namespace

int main(int argc, char** argv) {
    int64_t most = argc > 1 ? std::atoll(argv[1]) : 100'000;
    const std::vector<Net> nets{{"layers", layers},   {"products", products}, {"chain", chain},
                                {"factors", factors}, {"fan", fan},           {"updates", updates}};
    std::printf(
        "| net | nodes | steps | build us/node | compile us/node | over the smallest "
        "|\n|---|---|---|---|---|---|\n");
    for (auto& net : nets) {
        double first = 0;
        for (int64_t nodes = 1000; nodes <= most; nodes *= 10) {
            double begin = cpu_seconds();
            Graph graph = graph_of(net, nodes);
            double built = cpu_seconds();
            CompileOptions options;
            options.threads = 1;
            auto program = Program::compile(graph, options);
            double done = cpu_seconds();
            auto per_node = [&](double seconds) { return seconds * 1e6 / double(graph.nodes().size()); };
            if (first == 0) first = per_node(done - built);
            std::printf("| %s | %zu | %zu | %.2f | %.2f | %.2f |\n", net.name, graph.nodes().size(),
                        program->steps().size(), per_node(built - begin), per_node(done - built),
                        per_node(done - built) / first);
            std::fflush(stdout);
        }
    }
    return 0;
}
