// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "libmge/kernel/select.h"

struct sqlite3;

namespace mge {

// Measured times of algorithms, kept in an SQLite file: crash-safe, many processes may write at once. One row
// per problem and algorithm, keyed by the problem, the device model, the ISA and the versions of the
// libraries behind the algorithms; rows of other machines or versions simply do not match. A damaged database
// is a UserError that names the file.
class MGE_API FastrunCache {
public:
    static std::unique_ptr<FastrunCache> open(const std::string& path);  // made when it does not exist
    static std::unique_ptr<FastrunCache> in_memory();
    // The bytes of such a file, e.g. of one that was decrypted, copied into memory; what is stored stays
    // there. `label` stands for the path.
    static std::unique_ptr<FastrunCache> from_bytes(std::span<const std::byte> file,
                                                    const std::string& label);
    // $XDG_CACHE_HOME/mge/fastrun.sqlite, or under ~/.cache.
    static std::string default_path();
    ~FastrunCache();

    std::optional<std::vector<Measurement>> find(const Problem& problem);
    void store(const Problem& problem, const std::vector<Measurement>& measured);
    const std::string& path() const { return path_; }

private:
    struct Close {
        void operator()(sqlite3* db) const;
    };
    FastrunCache(std::string path, std::unique_ptr<sqlite3, Close> db);

    std::string path_;
    std::unique_ptr<sqlite3, Close> db_;
    std::mutex mutex_;
};

}  // namespace mge
