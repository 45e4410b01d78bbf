// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/base/api.h"
#include "libmge/tensor/tensor.h"

namespace mge {

// Learnable values by name, in insertion order. An optimizer step replaces values, so holders of an old value
// keep it.
class MGE_API Parameters {
public:
    // Returns the index. Throws UserError if the name is empty or taken.
    size_t add(std::string name, Tensor value);
    // Throws UserError if dtype, shape or device differ from the current value's.
    void set(size_t i, Tensor value);

    size_t size() const { return values_.size(); }
    const std::vector<std::string>& names() const { return names_; }
    const Tensors& values() const { return values_; }
    const Tensor& operator[](size_t i) const { return values_[i]; }
    // Throws UserError if the name is unknown.
    const Tensor& at(std::string_view name) const;

private:
    std::vector<std::string> names_;
    Tensors values_;
};

struct LossAndGradients {
    Tensor loss;
    Tensors gradients;  // in the order of the parameters; null if the loss does not depend on one
};

// Calls `loss` with the parameters recorded on a tape, and differentiates the sum of its result:
//
//     auto [loss, gradients] = differentiate(parameters, [&](const Parameters& p) {
//         return ops::mean(ops::square(ops::sub(ops::matmul(x, p.at("weight")), y)));
//     });
MGE_API LossAndGradients differentiate(const Parameters& parameters,
                                       const std::function<Tensor(const Parameters&)>& loss);

}  // namespace mge
