// SPDX-License-Identifier: Apache-2.0
// Overhead of a Lite network over the engine: forward() and wait() of a tiny model next to the context of its
// program, in turns in one process; in place (next to run()) and on the thread of the network (next to
// start() and wait()). Usage: benchmark_lite
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "libmge/graph/builder.h"
#include "libmge/mge.h"
#include "libmge/model/model.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "lite/network.h"

namespace {

constexpr int rounds = 201;

mge::Graph tiny_graph() {
    mge::GraphBuilder builder;
    mge::Tensor x = builder.input({mge::DType::f32, {8}, {}}, "x");
    mge::InterpreterScope scope(builder);
    builder.set_outputs({mge::ops::add(x, x)});
    return builder.take();
}

std::shared_ptr<lite::Network> load(const std::string& path, bool is_in_place) {
    lite::Config config;
    config.options.var_sanity_check_first_run = false;
    auto network = std::make_shared<lite::Network>(config);
    if (is_in_place) lite::Runtime::set_cpu_inplace_mode(network);
    network->load_model(path);
    network->get_input_tensor(0)->fill_zero();
    return network;
}

// Microseconds of one run, over `runs` of them.
template <class Run>
double time(int runs, Run&& run) {
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < runs; ++i) run();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / runs;
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + long(values.size() / 2), values.end());
    return values[values.size() / 2];
}

void compare(const char* name, int runs, lite::Network& network, mge::Context& context, bool is_in_place) {
    auto run_network = [&] {
        network.forward();
        network.wait();
    };
    auto run_context = [&] {
        if (is_in_place)
            context.run();
        else
            context.start();
        context.wait();
    };
    run_network();
    run_context();
    std::vector<double> of_network, of_context, differences;
    for (int i = 0; i < rounds; ++i) {
        of_context.push_back(time(runs, run_context));
        of_network.push_back(time(runs, run_network));
        differences.push_back(of_network.back() - of_context.back());
    }
    std::printf("| %s | %.3f | %.3f | %.3f | %.2f |\n", name, median(of_context), median(of_network),
                median(differences), median(of_network) / median(of_context));
}

}  // namespace

int main() {
    std::string folder = (std::filesystem::temp_directory_path() / "mge_benchmark_lite_XXXXXX").string();
    if (!::mkdtemp(folder.data())) return 1;
    std::string path = folder + "/tiny.mge";
    mge::Model model;
    model.graph = tiny_graph();
    mge::write_model(path, model);
    mge::CompileOptions options;
    options.threads = 1;
    options.var_sanity_check_first_run = false;
    auto context = mge::Context::create(mge::Program::compile(model.graph, options));
    std::puts("| mode | context us | network us | difference us | ratio |\n|---|---|---|---|---|");
    compare("in place", 2000, *load(path, true), *context, true);
    compare("on a thread", 50, *load(path, false), *context, false);
    std::filesystem::remove_all(folder);
}
