// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies of constants in the layouts of kernels, made ahead of time: a model file contains them next to the
// constants. Packing a constant uses such a copy in place; writers of files record the packed copies.

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
    std::string layouts;  // layouts of the constant and of its copy, in the packer's notation
    const void* data = nullptr;
    size_t bytes = 0;
};

// Throws if the bytes of the constant differ from the stored ones.
using VerifyConstant = std::function<void(const void* constant)>;
// They are found while `owner` lives, which owns their memory and that of the constants. With a `verify`,
// their bytes are not verified yet.
MGE_API void offer_packed_copies(const std::shared_ptr<const void>& owner, std::vector<PackedCopy> copies,
                                 const std::shared_ptr<const VerifyConstant>& verify = nullptr);
// The first matching copy of the constant; null if there is none.
using PackedCopyFilter = std::function<bool(std::string_view layouts, size_t bytes)>;
MGE_API StorageRef find_packed_copy(const void* constant, const PackedCopyFilter& is_wanted);
// The addresses of the currently offered copies of the constant.
MGE_API std::vector<const void*> packed_copies_of(const void* constant);
// Users of the bytes of constants that may have been offered with a `verify` call this for them: before the
// use, or afterwards if they discard results for damaged ones. An intact one is verified once.
MGE_API void verify_constant(const void* constant);
// All of them, by several threads if there is much data; the first damaged one is reported.
MGE_API void verify_constants(std::span<const std::span<const std::byte>> constants, int threads);

// Records the constants that the algorithms of a program pack.
class MGE_API PackedCopyNotes {
public:
    // `user` lives as long as the copy does.
    void add(std::weak_ptr<const void> user, PackedCopy copy);
    // Those that still exist.
    std::vector<PackedCopy> living() const;

private:
    struct Note {
        std::weak_ptr<const void> user;
        PackedCopy copy;
    };
    std::vector<Note> notes_;
};

class PackedWeightCache;

// The records and the cache of packed constants; null: none.
struct Packing {
    PackedCopyNotes* notes = nullptr;    // records the copy
    PackedWeightCache* cache = nullptr;  // has copies of earlier processes, and keeps the copy for later ones
};

}  // namespace mge
