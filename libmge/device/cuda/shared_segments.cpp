// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/cuda/shared_segments.h"

#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "libmge/base/error.h"
#include "libmge/device/cuda/runtime.h"

namespace mge::cuda {
namespace {

// An opened segment, which is closed with the last reference.
class Segment {
public:
    Segment(const std::string& handle, int device) : device_(device) {
        cudaIpcMemHandle_t opened;
        if (handle.size() != sizeof(opened))
            throw_user("open_shared", text("a handle has ", sizeof(opened), " bytes, got ", handle.size()));
        std::memcpy(&opened, handle.data(), sizeof(opened));
        use_device(device);
        check(cudaIpcOpenMemHandle(&base_, opened, cudaIpcMemLazyEnablePeerAccess), "cudaIpcOpenMemHandle");
    }
    // Waits for in-flight reads.
    ~Segment() {
        ignore(cudaSetDevice(device_));
        ignore(cudaDeviceSynchronize());
        ignore(cudaIpcCloseMemHandle(base_));
    }
    Segment(const Segment&) = delete;
    char* base() const { return static_cast<char*>(base_); }

private:
    const int device_;
    void* base_ = nullptr;
};

struct Segments {
    std::mutex mutex;
    std::map<std::pair<int, std::string>, std::weak_ptr<const Segment>> open;
};

// Never destroyed: memory may be freed during static destruction.
Segments& segments() {
    static Segments& all = *std::make_unique<Segments>().release();
    return all;
}

// The driver refuses to open a segment twice, so closing one holds the lock, too.
std::shared_ptr<const Segment> open_segment(const std::string& handle, int device) {
    auto& all = segments();
    std::lock_guard lock(all.mutex);
    std::erase_if(all.open, [](auto& known) { return known.second.expired(); });
    auto& known = all.open[{device, handle}];
    auto segment = known.lock();
    if (!segment) known = segment = std::make_shared<const Segment>(handle, device);
    return segment;
}

struct Opened final : Storage {
    SharedBlock block;
    std::shared_ptr<const void> keeper;
    std::shared_ptr<const Segment> segment;  // closed before the keeper is released
};

void close_block(Storage* storage) {
    std::unique_ptr<Opened> owned(static_cast<Opened*>(storage));
    std::lock_guard lock(segments().mutex);
    owned->segment = nullptr;
}

}  // namespace

std::string handle_of(void* segment) {
    cudaIpcMemHandle_t handle;
    check(cudaIpcGetMemHandle(&handle, segment), "cudaIpcGetMemHandle");
    return {reinterpret_cast<const char*>(&handle), sizeof(handle)};
}

StorageRef open_block(const SharedBlock& block, int device, std::shared_ptr<const void> keeper) {
    auto opened = std::make_unique<Opened>();
    opened->block = block;
    opened->segment = open_segment(block.handle, device);
    opened->keeper = std::move(keeper);
    opened->device_index = uint8_t(device);
    opened->data = opened->segment->base() + block.offset;
    opened->bytes = block.bytes;
    opened->release = close_block;
    return StorageRef(opened.release());
}

const SharedBlock* opened_block(const Storage& storage) {
    return storage.release == close_block ? &static_cast<const Opened&>(storage).block : nullptr;
}

}  // namespace mge::cuda
