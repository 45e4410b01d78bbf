// SPDX-License-Identifier: Apache-2.0
#include "libmge/op/subgraph.h"

namespace mge {

bool SubgraphRef::operator==(const SubgraphRef& other) const {
    if (get() == other.get()) return true;
    return get() && other.get() && get()->hash() == other->hash();
}

uint64_t SubgraphRef::hash() const { return get() ? get()->hash() : 0; }

SubgraphRef Subgraph::derived(const std::string& key, const std::function<SubgraphRef()>& make) const {
    {
        std::lock_guard lock(mutex_);
        for (auto& [known, graph] : derived_)
            if (known == key) return graph;
    }
    SubgraphRef made = make();
    std::lock_guard lock(mutex_);
    return derived_.emplace_back(key, made).second;
}

}  // namespace mge
