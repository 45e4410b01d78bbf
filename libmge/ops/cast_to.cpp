// SPDX-License-Identifier: Apache-2.0
// In which precision each operator belongs: what it says, or what follows from its other facts.

#include <algorithm>
#include <vector>

#include "libmge/op/autocast.h"
#include "libmge/ops/built.h"

namespace mge {
namespace {

template <class O>
concept DefinesCast = requires(const typename O::Params& params) {
    { O::cast_to(params) } -> std::same_as<CastTo>;
};

struct CastRule {
    const OpInfo* op;
    CastTo (*cast_to)(const void* params);
};

template <class O>
void add_if_defined(std::vector<CastRule>& list) {
    if constexpr (DefinesCast<O>)
        list.push_back({&O::info, +[](const void* params) {
                            return O::cast_to(*static_cast<const typename O::Params*>(params));
                        }});
}

template <class... O>
std::vector<CastRule> cast_rules_of(TypeList<O...>) {
    std::vector<CastRule> list;
    (add_if_defined<O>(list), ...);
    return list;
}

}  // namespace

CastTo cast_of(const OpInfo& op, const void* params) {
    static const std::vector<CastRule> rules = cast_rules_of(BuiltOps{});
    auto it = std::ranges::find(rules, &op, &CastRule::op);
    if (it != rules.end()) return it->cast_to(params);
    if (op.autocast == Autocast::narrow) return CastTo::low;
    return op.traits.promotion == Promotion::floating ? CastTo::high : CastTo::as_given;
}

}  // namespace mge
