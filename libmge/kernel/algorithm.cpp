// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/algorithm.h"

#include <utility>

namespace mge {
namespace {

constexpr std::string_view precision_names[] = {"strict", "relaxed", "fast"};

struct Joined {
    Specs specs;
};
std::ostream& operator<<(std::ostream& stream, Joined all) {
    const char* between = "";
    for (auto& spec : all.specs) stream << std::exchange(between, " ") << spec;
    return stream;
}

}  // namespace

std::string Problem::key() const {
    return text(op, '(', params_text(fields, params), ") ", Joined{inputs}, " -> ", Joined{outputs},
                " const=", constant_inputs, " threads=", threads, ' ', precision_names[size_t(precision)]);
}

}  // namespace mge
