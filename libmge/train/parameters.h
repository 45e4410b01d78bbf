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

// What a network learns: values by name, in the order in which they were added. A step of an optimizer
// replaces values, so that whoever holds an old one keeps it.
class MGE_API Parameters {
public:
    // Gives its index. UserError when the name is empty or taken.
    size_t add(std::string name, Tensor value);
    // UserError when dtype, shape or device differ from what is there.
    void set(size_t i, Tensor value);

    size_t size() const { return values_.size(); }
    const std::vector<std::string>& names() const { return names_; }
    const Tensors& values() const { return values_; }
    const Tensor& operator[](size_t i) const { return values_[i]; }
    // UserError when there is none of that name.
    const Tensor& at(std::string_view name) const;

private:
    std::vector<std::string> names_;
    Tensors values_;
};

struct LossAndGradients {
    Tensor loss;
    Tensors gradients;  // in the order of the parameters; null where the loss does not depend on one
};

// Calls `loss` with the parameters recorded on a tape, and differentiates the sum of what it gives:
//
//     auto [loss, gradients] = differentiate(parameters, [&](const Parameters& p) {
//         return ops::mean(ops::square(ops::sub(ops::matmul(x, p.at("weight")), y)));
//     });
MGE_API LossAndGradients differentiate(const Parameters& parameters,
                                       const std::function<Tensor(const Parameters&)>& loss);

}  // namespace mge
