// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/cuda/last_launches.h"

#include <array>
#include <mutex>

#include "libmge/device/work_origin.h"

namespace mge::cuda {
namespace {

constexpr size_t kept = 8;

struct Launches {
    std::mutex mutex;
    std::array<std::shared_ptr<const WorkOrigin>, kept> ring;
    size_t next = 0;
};

// Never destroyed: launches may happen during static destruction.
Launches& launches() {
    static Launches& all = *std::make_unique<Launches>().release();
    return all;
}

}  // namespace

void note_launch() {
    auto origin = work_origin();
    if (!origin) return;
    auto& all = launches();
    std::lock_guard lock(all.mutex);
    auto& slot = all.ring[all.next++ % kept];
    std::swap(slot, origin);  // releases the old one after unlocking
}

std::string last_launches() {
    auto& all = launches();
    std::lock_guard lock(all.mutex);
    std::string names;
    for (size_t i = 1; i <= kept; ++i)
        if (auto& origin = all.ring[(all.next - i) % kept])
            names += (names.empty() ? "" : ", ") + origin->text();
    return names.empty() ? "unknown" : names;
}

}  // namespace mge::cuda
