// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/upload.h"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace mge {
namespace {

// Keeps a block until the process ends.
void keep(const StorageRef& block) {
    static std::mutex mutex;
    static auto& kept = *new std::vector<StorageRef>;
    std::lock_guard lock(mutex);
    kept.push_back(block);
}

// Releases a block of the copy queue that another queue has read.
struct Uploaded {
    Queue &copies, &reader;
    StorageRef block;

    Uploaded(Queue& its_copies, Queue& its_reader, StorageRef its_block)
        : copies(its_copies), reader(its_reader), block(std::move(its_block)) {}
    Uploaded(const Uploaded&) = delete;
    ~Uploaded() {
        if (!is_done_in_order()) keep(block);
    }
    // Returns false if the queues cannot be synchronised, for example on a lost device or while recording
    // (device/recording.h). Then it is unknown when the block is free.
    bool is_done_in_order() const {
        try {
            copies.run_after(reader);
            return true;
        } catch (...) {
            return false;
        }
    }
};

}  // namespace

Tensor upload_overlapped(const Tensor& host, DeviceId id) {
    if (id.is_host() || id.stream == copies_stream) return to_device(host, id);
    DeviceId copying = id;
    copying.stream = copies_stream;
    Queue &copies = queue_of(copying), &reader = queue_of(id);
    size_t bytes = host.spec().bytes();
    auto uploaded = std::make_shared<const Uploaded>(copies, reader, copies.allocate(bytes));
    void* at = uploaded->block->data;
    if (bytes) copies.copy_from_host(at, host.data(), bytes);
    reader.run_after(copies);
    return Tensor(host.spec(), borrow_storage(at, bytes, std::move(uploaded)), 0, id);
}

}  // namespace mge
