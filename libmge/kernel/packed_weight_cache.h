// SPDX-License-Identifier: Apache-2.0
#pragma once
// Packed copies of constants in a folder of the user: a model that was compiled before on this machine is
// compiled again without packing. Copies are found by the values of the constants, so models that share
// layers share copies, and nothing needs to know which model a constant belongs to.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "libmge/base/api.h"
#include "libmge/base/hash.h"
#include "libmge/tensor/storage.h"

namespace mge {

// Safe for several threads and processes. No function fails: a copy that cannot be stored is packed again
// next time, and the reason is logged once.
class MGE_API PackedWeightCache {
public:
    static constexpr uint64_t default_limit = uint64_t(2) << 30;
    // Smaller constants are packed faster than a file is opened.
    static constexpr size_t least_bytes = size_t(1) << 17;

    // The cache in the folder that MGE_MODEL_CACHE names, by default mge/packed-weights in the cache folder
    // (base/files/cache_folder.h); null if it is "0", or if other users can write to the folder.
    // Copies that it stores are labelled with the model; empty: without a name.
    static PackedWeightCache* of_user(const std::string& model = {});
    // When its files have more bytes than the limit, those that were not used for longest are removed.
    explicit PackedWeightCache(std::string folder, uint64_t limit = default_limit, std::string model = {});

    // The copy with this key, whose checksum was verified; null if there is none. Its memory is a mapped
    // file.
    StorageRef find(const Fingerprint& key, size_t bytes) const;
    // Marks a copy for write(), which stores it if `owner` of its memory still exists then: those of
    // algorithms that were only tried do not. `purpose` says in words what the copy is.
    void add(const Fingerprint& key, std::weak_ptr<const void> owner, const void* data, size_t bytes,
             const std::string& purpose = {});
    // Stores the marked copies. Call when a program is complete.
    void write();

    // The files in use, for tools.
    struct Entry {
        std::string path;
        uint64_t bytes = 0;
        int64_t used_at = 0;      // seconds since 1970
        std::string key() const;  // 32 hexadecimal digits
    };
    std::vector<Entry> entries() const;  // the one that was not used for longest first
    // The first model that a copy was made for, and its purpose. Empty if they are unknown, or if another
    // user could have written the file.
    struct Label {
        std::string model, purpose;
    };
    static Label label_of(const Entry& entry);
    // Returns how many of the files were removed.
    static size_t remove(const std::vector<Entry>& entries);
    const std::string& folder() const { return folder_; }

private:
    struct Copy {
        Fingerprint key;
        std::weak_ptr<const void> owner;
        const void* data;
        size_t bytes;
        std::string label;
    };
    std::string path_of(const Fingerprint& key) const;
    void store(const Copy& copy) const;
    void remove_oldest();

    std::string folder_;
    uint64_t limit_;
    std::string model_;
    std::mutex mutex_;
    std::vector<Copy> added_;
};

}  // namespace mge
