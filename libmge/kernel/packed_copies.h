// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies of constants in the layouts that kernels want, made ahead of time: the file of a model holds them
// beside the constants. Whoever would pack a constant takes such a copy where it lies; whoever writes a file
// notes what is packed.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/base/api.h"
#include "libmge/tensor/storage.h"

namespace mge {

struct PackedCopy {
    const void* constant = nullptr;
    std::string layouts;  // of the constant and of its copy, in the words of whoever packs
    const void* data = nullptr;
    size_t bytes = 0;
};

// They are found while `owner` lives, in whose memory they lie, with the constants.
MGE_API void offer_packed_copies(const std::shared_ptr<const void>& owner, std::vector<PackedCopy> copies);
// The first copy of the constant that is wanted; null when there is none.
using IsWantedCopy = std::function<bool(std::string_view layouts, size_t bytes)>;
MGE_API StorageRef find_packed_copy(const void* constant, const IsWantedCopy& is_wanted);

// Is told of what this thread packs while it lives.
class MGE_API PackedCopyNotes {
public:
    PackedCopyNotes();
    ~PackedCopyNotes();
    PackedCopyNotes(const PackedCopyNotes&) = delete;
    PackedCopyNotes& operator=(const PackedCopyNotes&) = delete;

    // Null: nobody wants to know.
    static PackedCopyNotes* of_this_thread();
    // `user` lives as long as the copy does.
    void add(std::weak_ptr<const void> user, PackedCopy copy);
    // Those that are still there.
    std::vector<PackedCopy> living() const;

private:
    struct Note {
        std::weak_ptr<const void> user;
        PackedCopy copy;
    };
    std::vector<Note> notes_;
    PackedCopyNotes* outer_;
};

}  // namespace mge
