// SPDX-License-Identifier: Apache-2.0
// In which precision each operator belongs: what it says, or what follows from its other facts.

#include <algorithm>
#include <vector>

#include "libmge/op/autocast.h"
#include "libmge/ops/built.h"

namespace mge {
namespace {

template <class O>
concept SaysCast = requires(const typename O::Params& params) {
    { O::cast_to(params) } -> std::same_as<CastTo>;
};

struct Said {
    const OpInfo* op;
    CastTo (*cast_to)(const void* params);
};

template <class O>
void add_if_said(std::vector<Said>& list) {
    if constexpr (SaysCast<O>)
        list.push_back({&O::info, +[](const void* params) {
                            return O::cast_to(*static_cast<const typename O::Params*>(params));
                        }});
}

template <class... O>
std::vector<Said> said_by(TypeList<O...>) {
    std::vector<Said> list;
    (add_if_said<O>(list), ...);
    return list;
}

}  // namespace

CastTo cast_of(const OpInfo& op, const void* params) {
    static const std::vector<Said> said = said_by(BuiltOps{});
    auto it = std::ranges::find(said, &op, &Said::op);
    if (it != said.end()) return it->cast_to(params);
    if (op.autocast == Autocast::narrow) return CastTo::low;
    return op.traits.promotion == Promotion::floating ? CastTo::high : CastTo::as_given;
}

}  // namespace mge
