// SPDX-License-Identifier: Apache-2.0
#include "libmge/train/optimizer.h"

#include <array>
#include <cmath>

#include "libmge/base/error.h"
#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/eager/tape.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/optimize/adam_step.h"
#include "libmge/ops/optimize/sgd_step.h"

namespace mge {
namespace {

constexpr const char* who = "optimizer";

void require_not_negative(const char* option, double value) {
    if (!(value >= 0) || !std::isfinite(value))
        throw_value_error(who, option, " may not be negative, got ", value);
}
void require_part(const char* option, double value) {
    if (!(value >= 0 && value < 1)) throw_value_error(who, option, " must be in [0, 1), got ", value);
}

Tensor zeros_like(const Tensor& tensor) { return ops::full_like(tensor, {.value = 0}); }

class Sgd final : public Optimizer {
public:
    Sgd(Parameters& parameters, const SgdOptions& o)
        : Optimizer(parameters, o.learning_rate),
          params_{.momentum = o.momentum, .weight_decay = o.weight_decay, .nesterov = o.nesterov} {
        require_not_negative("momentum", o.momentum);
        require_not_negative("weight_decay", o.weight_decay);
        if (o.nesterov && o.momentum == 0) throw_value_error(who, "nesterov needs a momentum");
    }
    std::string_view kind() const override { return "sgd"; }
    std::span<const std::string_view> state_names() const override {
        static constexpr std::array<std::string_view, 1> names{"momentum_buffer"};
        return {names.data(), params_.momentum == 0 ? 0 : names.size()};
    }

private:
    Tensor update(const Tensor& value, const Tensor& gradient, const Tensor& rate,
                  Tensors& state) const override {
        Tensors now = ops::sgd_step(value, gradient, state.empty() ? Tensor() : state[0], rate, params_);
        if (!state.empty()) state[0] = std::move(now[1]);
        return std::move(now[0]);
    }

    ops::SgdStep::Params params_;
};

class Adam final : public Optimizer {
public:
    Adam(Parameters& parameters, const AdamOptions& o)
        : Optimizer(parameters, o.learning_rate),
          params_{.beta1 = o.beta1,
                  .beta2 = o.beta2,
                  .epsilon = o.epsilon,
                  .weight_decay = o.weight_decay,
                  .decoupled = o.decoupled} {
        require_part("beta1", o.beta1);
        require_part("beta2", o.beta2);
        require_not_negative("epsilon", o.epsilon);
        require_not_negative("weight_decay", o.weight_decay);
    }
    std::string_view kind() const override { return params_.decoupled ? "adamw" : "adam"; }
    std::span<const std::string_view> state_names() const override {
        static constexpr std::array<std::string_view, 3> names{"exp_avg", "exp_avg_sq", "step"};
        return names;
    }

private:
    Tensor update(const Tensor& value, const Tensor& gradient, const Tensor& rate,
                  Tensors& state) const override {
        for (size_t i : {0, 1})
            if (!state[i]) state[i] = zeros_like(value);
        if (!state[2]) state[2] = scalar_tensor(0, DType::f32, value.device());
        Tensors now = apply(ops::AdamStep::info, &params_,
                            std::array{value, gradient, state[0], state[1], state[2], rate});
        for (size_t i = 0; i < state.size(); ++i) state[i] = std::move(now[i + 1]);
        return std::move(now[0]);
    }

    ops::AdamStep::Params params_;
};

}  // namespace

Optimizer::Optimizer(Parameters& parameters, double learning_rate)
    : parameters_(parameters), state_(parameters.size()) {
    set_learning_rate(learning_rate);
}

void Optimizer::set_learning_rate(double rate) {
    require_not_negative("learning_rate", rate);
    learning_rate_ = rate;
}

void Optimizer::step(std::span<const Tensor> gradients) {
    if (gradients.size() != parameters_.size() || state_.size() != parameters_.size())
        throw_value_error(who, "got ", counted(int64_t(gradients.size()), "gradient"), " for ",
                          counted(int64_t(parameters_.size()), "parameter"), "; it was made for ",
                          state_.size());
    RecordingPaused paused;
    for (size_t i = 0; i < gradients.size(); ++i) {
        if (!gradients[i]) continue;
        const Tensor& value = parameters_[i];
        Tensor rate = scalar_tensor(learning_rate_, DType::f32, value.device());
        state_[i].resize(state_names().size());
        parameters_.set(i, update(value, gradients[i], rate, state_[i]));
    }
}

void Optimizer::set_state(std::vector<Tensors> state) {
    MGE_CHECK(state.size() == parameters_.size());
    state_ = std::move(state);
}

std::unique_ptr<Optimizer> make_sgd(Parameters& parameters, const SgdOptions& options) {
    return std::make_unique<Sgd>(parameters, options);
}
std::unique_ptr<Optimizer> make_adam(Parameters& parameters, const AdamOptions& options) {
    return std::make_unique<Adam>(parameters, options);
}

}  // namespace mge
