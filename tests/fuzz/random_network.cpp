// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/random_network.h"

#include <algorithm>
#include <stdexcept>

#include "libmge/mge.h"
#include "tests/fuzz/network_steps.h"

namespace mge::fuzz {
namespace {

Tensor random_input(Choices& choices, unsigned seed, bool is_image) {
    constexpr int64_t extents[] = {1, 2, 3, 4, 6, 1, 2, 0}, channel_counts[] = {4, 3, 8, 16, 2, 1, 5, 6};
    constexpr int64_t pixels[] = {4, 3, 5, 2, 1, 6, 7};
    Shape shape;
    if (is_image) {
        shape = {choices.one_in(4) ? 2 : 1, choices.pick(channel_counts), choices.pick(pixels),
                 choices.pick(pixels)};
        if (choices.one_in(64)) shape[int(choices.below(4))] = 0;
    } else {
        for (size_t rank = choices.below(6); rank > 0; --rank) {
            int64_t extent = choices.pick(extents);
            shape.push_back(extent || choices.one_in(4) ? extent : 5);
        }
    }
    return random_numbers(shape, seed);
}

Tensors run(NetworkSteps& steps, Choices choices) {
    for (size_t i = 0; i < steps.count(); ++i) steps.apply(i);
    Tensors outputs{steps.newest()};
    for (size_t more = choices.below(4); more > 0; --more) outputs.push_back(steps.value(choices.below(256)));
    return outputs;
}

}  // namespace

Network network_of(Bytes bytes) {
    Network result;
    Choices choices(bytes.first(std::min(bytes.size(), network_header)));
    const size_t inputs = 1 + choices.below(3);
    for (unsigned i = 0; i < inputs; ++i)
        result.inputs.push_back(random_input(choices, i, i == 0 || choices.one_in(2)));
    Bytes genes = bytes.subspan(std::min(bytes.size(), network_header));
    std::vector<bool> refused;
    GraphBuilder builder;
    Tensors symbols;
    for (auto& x : result.inputs) symbols.push_back(builder.input(x.spec(), text("x", symbols.size())));
    {
        InterpreterScope scope(builder);
        NetworkSteps symbolic(genes, symbols, refused, true);
        builder.set_outputs(run(symbolic, choices));
    }
    result.graph = builder.take();
    NetworkSteps eager(genes, result.inputs, refused, false);
    try {
        result.outputs = run(eager, choices);
    } catch (const UserError& e) {
        throw std::logic_error(
            text("eager operators refuse the network: ", e.what(), '\n', to_text(result.graph)));
    }
    result.largest = eager.largest();
    result.has_steps = eager.has_steps();
    result.has_halves = eager.has_halves();
    return result;
}

}  // namespace mge::fuzz
