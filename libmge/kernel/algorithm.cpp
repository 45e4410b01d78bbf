// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/algorithm.h"

namespace mge {
namespace {

constexpr std::string_view precision_names[] = {"strict", "relaxed", "fast"};

std::string specs_text(std::span<const TensorSpec> specs) {
    std::string result;
    for (auto& spec : specs) result += text(result.empty() ? "" : " ", spec);
    return result;
}

}  // namespace

std::string Problem::key() const {
    return text(op, '(', params_text(fields, params), ") ", specs_text(inputs), " -> ", specs_text(outputs),
                " const=", constant_inputs, " threads=", threads, ' ', precision_names[size_t(precision)]);
}

}  // namespace mge
