// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/cuda/peers.h"

#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "libmge/device/cuda/runtime.h"

namespace mge::cuda {
namespace {

struct Pairs {
    std::mutex mutex;
    std::set<std::pair<int, int>> known;
};

// Never destroyed: copies may happen during static destruction.
Pairs& pairs() {
    static Pairs& all = *std::make_unique<Pairs>().release();
    return all;
}

bool are_several() {
    static const bool several = [] {
        int count = 0;
        check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
        return count > 1;
    }();
    return several;
}

}  // namespace

int owner_of(const void* address, int device) {
    if (!are_several()) return device;
    cudaPointerAttributes attributes{};
    check(cudaPointerGetAttributes(&attributes, address), "cudaPointerGetAttributes");
    return attributes.type == cudaMemoryTypeDevice ? attributes.device : device;
}

void open_peer(int reader, int owner) {
    auto& all = pairs();
    std::lock_guard lock(all.mutex);
    if (all.known.contains({reader, owner})) return;
    use_device(reader);
    int is_able = 0;
    check(cudaDeviceCanAccessPeer(&is_able, reader, owner), "cudaDeviceCanAccessPeer");
    // May fail: another library may have enabled it, or the GPU is out of peer slots. Copies work anyway.
    if (is_able && cudaDeviceEnablePeerAccess(owner, 0) != cudaSuccess) ignore(cudaGetLastError());
    all.known.emplace(reader, owner);
}

}  // namespace mge::cuda
