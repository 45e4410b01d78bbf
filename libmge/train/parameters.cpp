// SPDX-License-Identifier: Apache-2.0
#include "libmge/train/parameters.h"

#include <algorithm>
#include <array>

#include "libmge/base/error.h"
#include "libmge/device/device.h"
#include "libmge/eager/tape.h"

namespace mge {

size_t Parameters::add(std::string name, Tensor value) {
    if (name.empty()) throw_value_error("parameters", "a parameter needs a name");
    if (std::ranges::find(names_, name) != names_.end())
        throw_value_error("parameters", "there is a parameter '", name, "' already");
    if (!value) throw_value_error("parameters", "'", name, "' has no value");
    values_.push_back(std::move(value));
    names_.push_back(std::move(name));
    return values_.size() - 1;
}

void Parameters::set(size_t i, Tensor value) {
    MGE_CHECK(i < size(), "parameter ", i, " of ", size());
    auto& old = values_[i];
    if (!value || !(value.spec() == old.spec()) || !(value.device() == old.device()))
        throw_value_error("parameters", "'", names_[i], "' is ", old.spec(), " on ",
                          logical_name(old.device()), ", got ",
                          value ? text(value.spec(), " on ", logical_name(value.device())) : "nothing");
    values_[i] = std::move(value);
}

const Tensor& Parameters::at(std::string_view name) const {
    auto it = std::ranges::find(names_, name);
    if (it == names_.end())
        throw_user("parameters", text("there is no parameter '", name, "'"), ErrorClass::key);
    return values_[size_t(it - names_.begin())];
}

LossAndGradients differentiate(const Parameters& parameters,
                               const std::function<Tensor(const Parameters&)>& loss) {
    Tape tape;
    Parameters recorded;
    for (size_t i = 0; i < parameters.size(); ++i)
        recorded.add(parameters.names()[i], tape.attach(parameters[i]));
    tape.start();
    std::array<Tensor, 1> y{loss(recorded)};
    if (!y[0]) throw_value_error("differentiate", "the loss has no value");
    Tensors gradients = tape.backward(y, std::array<Tensor, 1>{});
    return {std::move(y[0]), std::move(gradients)};
}

}  // namespace mge
