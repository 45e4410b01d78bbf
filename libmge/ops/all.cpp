// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/all.h"

namespace mge {
namespace {

template <class... O>
constexpr auto infos(TypeList<O...>) {
    return std::array<const OpInfo*, sizeof...(O)>{&O::info...};
}
constexpr auto table = infos(AllOps{});

}  // namespace

std::span<const OpInfo* const> all_ops() { return table; }

}  // namespace mge
