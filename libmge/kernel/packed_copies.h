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

// Throws when the bytes of the constant are not what was stored.
using VerifyConstant = std::function<void(const void* constant)>;
// They are found while `owner` lives, in whose memory they lie, with the constants. Of these nobody has
// looked at the bytes yet if there is a `verify`.
MGE_API void offer_packed_copies(const std::shared_ptr<const void>& owner, std::vector<PackedCopy> copies,
                                 const std::shared_ptr<const VerifyConstant>& verify = nullptr);
// The first copy of the constant that is wanted; null when there is none.
using IsWantedCopy = std::function<bool(std::string_view layouts, size_t bytes)>;
MGE_API StorageRef find_packed_copy(const void* constant, const IsWantedCopy& is_wanted);
// Where the copies of the constant lie that are offered now.
MGE_API std::vector<const void*> packed_copies_of(const void* constant);
// Whoever uses the bytes of constants that may have been offered with a `verify` calls this for them: before,
// or after, if he throws away what he made of damaged ones. What is intact is verified once.
MGE_API void verify_constant(const void* constant);
// All of them, by several threads where there is much to read; of damaged ones the first is told.
MGE_API void verify_constants(std::span<const std::span<const std::byte>> constants, int threads);

// Records what the algorithms of a program pack (SelectOptions::packed_copies).
class MGE_API PackedCopyNotes {
public:
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
};

}  // namespace mge
