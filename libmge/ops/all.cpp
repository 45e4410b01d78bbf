// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/built.h"

namespace mge {
namespace {

template <class... O>
constexpr auto infos(TypeList<O...>) {
    return std::array<const OpInfo*, sizeof...(O)>{&O::info...};
}
constexpr auto table = infos(BuiltOps{});

}  // namespace

std::span<const OpInfo* const> all_ops() { return table; }

}  // namespace mge
