// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/user_memory.h"

#include <utility>

#include "libmge/base/error.h"
#include "libmge/device/device.h"
#include "libmge/lite/device.h"

namespace lite {
namespace {

constexpr size_t alignment = 64;

// A piece of the user's memory, given back with its last user.
struct UserPiece {
    UserPiece(std::shared_ptr<Allocator> from, mge::DeviceId where, size_t bytes)
        : allocator(std::move(from)), place(where) {
        data = allocator->allocate(device_type_of(place), place.index, bytes, alignment);
        if (!data)
            throw mge::MemoryError(mge::text("the user's allocator did not provide ", bytes, " bytes on ",
                                             mge::physical_name(place)));
    }
    ~UserPiece() { allocator->free(device_type_of(place), place.index, data); }
    UserPiece(const UserPiece&) = delete;
    UserPiece& operator=(const UserPiece&) = delete;

    std::shared_ptr<Allocator> allocator;
    mge::DeviceId place;
    void* data = nullptr;
};

class UserMemory final : public mge::ContextAllocator {
public:
    explicit UserMemory(std::shared_ptr<Allocator> allocator) : allocator_(std::move(allocator)) {}
    mge::StorageRef alloc_static(mge::DeviceId place, size_t bytes) override { return take(place, bytes); }
    mge::StorageRef alloc_dynamic(mge::DeviceId place, size_t bytes) override { return take(place, bytes); }

private:
    mge::StorageRef take(mge::DeviceId place, size_t bytes) {
        auto piece = std::make_shared<UserPiece>(allocator_, place, bytes);
        return mge::borrow_storage(piece->data, bytes, piece);
    }
    std::shared_ptr<Allocator> allocator_;
};

}  // namespace

std::shared_ptr<mge::ContextAllocator> user_memory(std::shared_ptr<Allocator> allocator) {
    return std::make_shared<UserMemory>(std::move(allocator));
}

}  // namespace lite
