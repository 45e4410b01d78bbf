// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "libmge/train/parameters.h"

namespace mge {

// Updates parameters from their gradients. Each parameter has a state of named tensors.
class MGE_API Optimizer {
public:
    // The parameters must outlive the optimizer, and none may be added.
    virtual ~Optimizer() = default;
    Optimizer(const Optimizer&) = delete;
    Optimizer& operator=(const Optimizer&) = delete;

    // Takes one gradient per parameter; null skips the parameter.
    void step(std::span<const Tensor> gradients);

    double learning_rate() const { return learning_rate_; }
    // Throws UserError if the rate is negative or not finite.
    void set_learning_rate(double rate);

    Parameters& parameters() { return parameters_; }
    const Parameters& parameters() const { return parameters_; }
    // State for checkpoints: the optimizer's kind, the names of the state's parts, and the state as
    // [parameter][part]. Null parts mean zeros.
    virtual std::string_view kind() const = 0;
    virtual std::span<const std::string_view> state_names() const = 0;
    const std::vector<Tensors>& state() const { return state_; }
    void set_state(std::vector<Tensors> state);

protected:
    Optimizer(Parameters& parameters, double learning_rate);

private:
    // Returns the new value and updates the state.
    virtual Tensor update(const Tensor& value, const Tensor& gradient, const Tensor& rate,
                          Tensors& state) const = 0;

    Parameters& parameters_;
    double learning_rate_ = 0;
    std::vector<Tensors> state_;
};

struct SgdOptions {
    double learning_rate = 0.01;
    double momentum = 0, weight_decay = 0;
    bool nesterov = false;
};
// g += weight_decay · p; v = momentum · v + g; p −= learning_rate · v, or learning_rate · (g + momentum · v).
// Throws UserError for options out of range.
MGE_API std::unique_ptr<Optimizer> make_sgd(Parameters& parameters, const SgdOptions& options);

struct AdamOptions {
    double learning_rate = 0.001;
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
    bool decoupled = false;  // weight decay acts on the parameter itself (AdamW)
};
MGE_API std::unique_ptr<Optimizer> make_adam(Parameters& parameters, const AdamOptions& options);

}  // namespace mge
