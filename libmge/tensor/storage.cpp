// SPDX-License-Identifier: Apache-2.0
#include "libmge/tensor/borrowed.h"

namespace mge {
namespace {

struct BorrowedStorage : Storage {
    std::shared_ptr<const void> owner;
};

void release_borrowed(Storage* storage) {
    std::unique_ptr<BorrowedStorage>(static_cast<BorrowedStorage*>(storage));
}

}  // namespace

bool is_borrowed(const Storage& storage) { return storage.release == release_borrowed; }

StorageRef borrow_storage(const void* data, size_t bytes, std::shared_ptr<const void> owner) {
    auto storage = std::make_unique<BorrowedStorage>();
    storage->data = const_cast<void*>(data);
    storage->bytes = bytes;
    storage->owner = std::move(owner);
    storage->release = release_borrowed;
    return StorageRef(storage.release());
}

}  // namespace mge
