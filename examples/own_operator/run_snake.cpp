// SPDX-License-Identifier: Apache-2.0
// Loads the library, applies its operator, and writes a model that uses it.
//
//     run_snake ./own_operator.so snake.mge
#include <libmge/mge.h>

#include <iostream>
#include <span>
#include <vector>

namespace {

int run(const char* library, const char* model) {
    auto& loaded = mge::load_operators(library);
    std::cout << "library " << loaded.name << " has";
    for (auto* op : loaded.ops) std::cout << ' ' << op->name;
    std::cout << '\n';

    // Operators are found by name, and their parameters set by name.
    const mge::OpInfo& snake = *mge::find_op("snake");
    auto params = snake.params.make();
    mge::load_params(snake.name, snake.fields, params.get(), {{"alpha", 2.0}});

    std::vector<mge::Tensor> x{mge::ops::linspace({.start = -1, .stop = 1, .num = 5})};
    mge::Tensor y = mge::apply_one(snake, params.get(), x);
    for (float value : std::span(y.data<float>(), 5)) std::cout << value << ' ';
    std::cout << '\n';

    mge::GraphBuilder builder;
    std::vector<mge::Tensor> input{builder.input({mge::DType::f32, {5}, {}}, "x")};
    {
        mge::InterpreterScope scope(builder);
        builder.set_outputs({mge::apply_one(snake, params.get(), input)});
    }
    mge::write_model(model, {.graph = builder.take()});
    return 0;
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 3) {
        std::cerr << "usage: run_snake LIBRARY.so MODEL.mge\n";
        return 2;
    }
    return run(argv[1], argv[2]);
} catch (const mge::Error& error) {
    std::cerr << error.what() << '\n';
    return int(error.code());
}
