// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/base/files/lock_wait.h"
#include "libmge/base/threads/per_process.h"
#include "libmge/kernel/damaged_cache.h"
#include "libmge/kernel/neighbourhood.h"
#include "libmge/kernel/select.h"

namespace mge {

class Database;

// One row of the cache.
struct CacheRow {
    std::string machine;  // device model, ISA, library versions
    std::string problem;  // Problem::key(), followed by that of the neighbourhood
    Measurement measured;
    int64_t measured_at = 0;  // seconds since 1970
    bool is_intact = true;    // false: the checksum or a value shows a change
};

// Durability of a cache file after store(): the end of its process in any way, or also a power cut, for which
// every change waits for the disk.
enum class Durability { process, power_cut };

// Whether the user chose the file of a cache.
enum class CacheName { by_default, by_user };

// Storage of a cache whose database is only in memory, e.g. as an encrypted file.
class MGE_API CacheStorage {
public:
    using Bytes = std::span<const std::byte>;
    virtual ~CacheStorage() = default;
    // Replaces the current content (empty if there is none) by the result of `change`. There are no
    // concurrent writers; readers see either content. Exceptions of reading, `change` and writing are passed
    // on.
    virtual void update(const std::function<std::vector<std::byte>(Bytes present)>& change) = 0;
};

// Measured times of algorithms, stored in an SQLite file: crash-safe, and several processes may write at
// once. One row per problem and algorithm, keyed by the problem, the device model, the ISA and the versions
// of the libraries behind the algorithms; rows of other machines or versions simply do not match. Each row
// has a checksum; a damaged one is skipped. A cache is data, never code: an algorithm is only run if the
// operator offers one of that name for the problem.
class MGE_API FastrunCache {
public:
    // Opens a file, or creates it. Throws ModelError if it is not a cache or is damaged as a whole, UserError
    // if it cannot be opened; both name it. Without `wait`, waits up to half a minute for the locks of other
    // processes.
    static std::unique_ptr<FastrunCache> open(const std::string& path,
                                              Durability durability = Durability::process,
                                              std::shared_ptr<LockWait> wait = nullptr);
    // Opens an existing file, which is never written.
    static std::unique_ptr<FastrunCache> open_read_only(const std::string& path,
                                                        std::shared_ptr<LockWait> wait = nullptr);
    // Returns the limit for work that can continue without the cache.
    static std::shared_ptr<LockWait> short_wait(const std::string& path);
    // For work that must continue in any case: a cache that is not writable is only read, and an unreadable
    // one is left unchanged and replaced by an empty one in memory; find() and store() do not throw, and wait
    // for locks only as short_wait() does. One warning describes the fault. A user-chosen file that is not a
    // cache is a ModelError anyway.
    static std::unique_ptr<FastrunCache> open_tolerant(const std::string& path,
                                                       Durability durability = Durability::process,
                                                       CacheName name = CacheName::by_default);
    // The same for a cache that is already open.
    static std::unique_ptr<FastrunCache> made_tolerant(std::unique_ptr<FastrunCache> cache);
    // The same for work that stores nothing: it is never written, and may be missing.
    static std::unique_ptr<FastrunCache> open_to_look_up(const std::string& path,
                                                         CacheName name = CacheName::by_default);
    static std::unique_ptr<FastrunCache> in_memory();
    // The bytes of such a file, e.g. a decrypted one, copied into memory; changes stay there. `label`
    // replaces the path.
    static std::unique_ptr<FastrunCache> from_bytes(std::span<const std::byte> file,
                                                    const std::string& label);
    // The same, but every change is applied to the storage's current content and written to it, so that
    // others may write it, too. Tolerant: find() and store() do not throw, as for open_tolerant; results that
    // cannot be stored stay in this object.
    static std::unique_ptr<FastrunCache> from_storage(std::span<const std::byte> file,
                                                      const std::string& label,
                                                      std::unique_ptr<CacheStorage> storage,
                                                      bool is_tolerant = false);
    // mge/fastrun.sqlite in cache_folder(); nullopt without such a folder.
    static std::optional<std::string> default_path();
    // Returns the key of this machine's rows.
    static std::string machine(DeviceId device = {});
    ~FastrunCache();

    // The intact rows of a problem on this machine, fastest first; nullopt if there are none.
    std::optional<std::vector<Measurement>> find(const Problem& problem, Neighbourhood beside = {});
    // `considered`: the names of the algorithms and of their candidates that there were, measured or not,
    // since some are hopeless and others refuse the problem.
    void store(const Problem& problem, const std::vector<Measurement>& measured,
               std::span<const std::string> considered = {}, Neighbourhood beside = {});
    // The algorithms considered whenever the problem was stored here; nullopt: unknown, or the cache is
    // read-only, because measurements for others would then be repeated forever.
    std::optional<std::vector<std::string>> considered(const Problem& problem, Neighbourhood beside = {});
    const std::string& path() const { return path_; }

    // Returns every row, in order of machine, problem and time.
    std::vector<CacheRow> rows();
    // Adds the intact ones of these rows, all or none; of two for the same machine, problem and algorithm the
    // newer one is kept, where a future time counts as old. Own damaged rows are removed. Returns the number
    // of added or replaced rows.
    size_t merge(std::span<const CacheRow> rows);
    // Removes rows and returns their number.
    size_t remove(std::span<const CacheRow> rows);
    // Returns the faults of the file and its rows, one per line.
    std::vector<std::string> verify();
    // Frees the space of removed rows in the file.
    void compact();
    // Returns the contents of the cache as a file.
    std::vector<std::byte> bytes();
    // Writes all stored data to the file itself and the disk, with nothing left in the log.
    void flush();

private:
    enum class Access { write, read };
    using Connect = std::function<std::unique_ptr<Database>()>;
    FastrunCache(const std::string& path, Access access, Connect connect);
    std::vector<Measurement> find_intact(const std::string& machine, const std::string& problem);
    // Every change of rows goes through here. Returns the number of changed rows.
    size_t change(const std::function<void(Database&)>& body);
    // Runs the body. Warns of its error if the cache is tolerant, and returns false then.
    bool try_or_warn(const std::function<void()>& body);

    std::string path_;
    Access access_;
    bool is_tolerant_ = false;
    std::unique_ptr<CacheStorage> storage_;  // null: the database is a file, or nothing is kept
    std::atomic<bool> has_lost_storage_{false};
    // SQLite's connections do not survive fork(). A child of a cache in memory starts with an empty one.
    std::optional<PerProcess<Database>> connection_;  // always set; emptied by the destructor, under a lock
};

}  // namespace mge
