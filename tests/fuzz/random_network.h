// SPDX-License-Identifier: Apache-2.0
#pragma once
// Networks that follow from a row of bytes: convolutions, products and quantised steps among operators that
// move, join, cut and reduce, with shared and repeated operands. The first bytes choose inputs and outputs,
// the others the steps, each by as many bytes.

#include "libmge/graph/graph.h"
#include "tests/fuzz/target.h"

namespace mge::fuzz {

// Choices that follow from bytes; the first of each once they are used up.
class Choices {
public:
    explicit Choices(Bytes bytes) : bytes_(bytes) {}
    size_t below(size_t n) { return at_ < bytes_.size() ? size_t(bytes_[at_++]) % n : 0; }
    bool one_in(size_t n) { return below(n) == n - 1; }
    template <class Range>
    auto& pick(Range&& range) {
        return std::data(range)[below(std::size(range))];
    }

private:
    Bytes bytes_;
    size_t at_ = 0;
};

struct Network {
    Graph graph;
    Tensors inputs, outputs;  // values of the inputs, and the results of eager operators
    double largest = 1;       // magnitude of all values on the way
    bool has_steps = false;   // quantised values: rounding can move a result by a whole step
    bool has_halves = false;
};

inline constexpr size_t network_header = 24, network_step = 12, most_network_steps = 24;

Network network_of(Bytes bytes);

}  // namespace mge::fuzz
