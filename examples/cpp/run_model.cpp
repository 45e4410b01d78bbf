// SPDX-License-Identifier: Apache-2.0
// Loads a model, fills its inputs, runs it and reads its outputs.
//
//     run_model MODEL [BATCH]
#include <libmge/mge.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace {

// Replaces the data of an application: here every element is 1.
std::vector<float> data_for(const mge::PortInfo& port) {
    return std::vector<float>(size_t(port.spec.numel()), 1.0F);
}

// Shapes are those of the file, except for the batch.
mge::TensorSpecs specs_with_batch(const mge::Graph& graph, int64_t batch) {
    mge::TensorSpecs specs;
    for (mge::ValueId id : graph.inputs()) {
        mge::TensorSpec spec = graph.value(id).spec;
        if (batch > 0 && spec.shape.rank() > 0) spec.shape[0] = batch;
        specs.push_back(spec);
    }
    return specs;
}

int run(const std::string& path, int64_t batch) {
    // A .mge file, one of MegEngine's, or a packed one; encrypted models need a key in the options.
    mge::Model model = mge::open_model(path);

    // The graph becomes a program for these shapes: passes, choice of algorithms, memory plan. It never
    // changes; each thread that runs it has a context of its own.
    mge::Graph graph = mge::infer_shapes(model.graph, specs_with_batch(model.graph, batch));
    std::shared_ptr<const mge::Program> program = mge::Program::compile(graph, {});
    std::unique_ptr<mge::Context> context = mge::Context::create(program);

    // An input is read from the caller's own memory, without a copy, until another is bound.
    std::vector<std::vector<float>> data;
    for (size_t i = 0; i < program->inputs().size(); ++i) {
        auto& port = program->inputs()[i];
        if (port.spec.dtype != mge::DType::f32) {
            std::cerr << "input '" << port.name << "' is " << port.spec.dtype
                      << ", this program has float32\n";
            return 2;
        }
        std::cout << "input " << port.name << ' ' << port.spec.shape << '\n';
        context->bind_input(i, data.emplace_back(data_for(port)).data());
    }

    context->run();
    context->wait();

    for (size_t i = 0; i < program->outputs().size(); ++i) {
        mge::Tensor output = mge::convert_dtype(mge::to_host(context->output(i)), mge::DType::f32);
        std::cout << "output " << program->outputs()[i].name << ' ' << output.shape() << ':';
        auto count = std::min<size_t>(size_t(output.spec().numel()), 10);
        for (float value : std::span(output.data<float>(), count)) std::cout << ' ' << value;
        std::cout << '\n';
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc < 2 || argc > 3) {
        std::cerr << "usage: run_model MODEL [BATCH]\n";
        return 2;
    }
    return run(argv[1], argc > 2 ? std::atoll(argv[2]) : 0);
} catch (const mge::Error& error) {
    // The exit codes of the tools: docs/error-codes.md.
    std::cerr << error.what() << '\n';
    return int(error.code());
}
