// SPDX-License-Identifier: Apache-2.0
#include "libmge/tensor/storage.h"

namespace mge {
namespace {

struct BorrowedStorage : Storage {
    std::shared_ptr<const void> owner;
};

}  // namespace

StorageRef borrow_storage(const void* data, size_t bytes, std::shared_ptr<const void> owner) {
    auto storage = std::make_unique<BorrowedStorage>();
    storage->data = const_cast<void*>(data);
    storage->bytes = bytes;
    storage->owner = std::move(owner);
    storage->release = [](Storage* s) { std::unique_ptr<BorrowedStorage>(static_cast<BorrowedStorage*>(s)); };
    return StorageRef(storage.release());
}

}  // namespace mge
