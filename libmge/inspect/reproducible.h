// SPDX-License-Identifier: Apache-2.0
#pragma once
// Does a program give the same bits in every run? Fresh contexts run on the same inputs, and the results of
// every step are compared by checksum, so that no more memory is needed than for the contexts.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "libmge/compile/program.h"

namespace mge {

struct Unequal {
    size_t step = 0;
    std::string op, name, algorithm, output;
    int run = 0;         // that differs from the first
    int64_t index = -1;  // flat; −1: it did not happen again when the values were looked at
    Shape shape;
    double first = 0, now = 0;
};

struct Reproducibility {
    int runs = 0;
    size_t steps = 0, values = 0;
    std::optional<Unequal> difference;
};

// `load` fills a context's inputs.
MGE_API Reproducibility check_reproducible(const std::shared_ptr<const Program>& program,
                                           const std::function<void(Context&)>& load, int runs = 2);
MGE_API std::string explain(const Unequal& difference);

}  // namespace mge
