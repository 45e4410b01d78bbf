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

#include "libmge/base/error.h"
#include "libmge/base/files/lock_wait.h"
#include "libmge/base/threads/per_process.h"
#include "libmge/kernel/neighbourhood.h"
#include "libmge/kernel/select.h"

namespace mge {

class Database;

// One row of the cache.
struct CacheRow {
    std::string machine;  // device model, ISA, library versions
    std::string problem;  // Problem::key(), and behind it that of the neighbourhood
    Measurement measured;
    int64_t measured_at = 0;  // seconds since 1970
    bool is_intact = true;    // false: the checksum or a value says that something changed it
};

// What a cache in a file outlives, once store() has returned: the end of its process however that comes, or a
// power cut as well, for which every change waits for the disk.
enum class Durability { process, power_cut };

// A cache whose database is damaged. A file that is no cache is a plain ModelError.
class MGE_API DamagedCache : public ModelError {
public:
    using ModelError::ModelError;
};
// The one who chose the file of a cache.
enum class CacheName { by_default, by_user };

// Where a cache lies that is a database in memory only, e.g. as an encrypted file.
class MGE_API CacheStorage {
public:
    using Bytes = std::span<const std::byte>;
    virtual ~CacheStorage() = default;
    // Puts what `change` makes of the present content (none: there is nothing yet) in its place. Nobody else
    // writes meanwhile; who reads sees the one or the other. Throws what reading, `change` and writing throw.
    virtual void update(const std::function<std::vector<std::byte>(Bytes present)>& change) = 0;
};

// Measured times of algorithms, kept in an SQLite file: crash-safe, many processes may write at once. One row
// per problem and algorithm, keyed by the problem, the device model, the ISA and the versions of the
// libraries behind the algorithms; rows of other machines or versions simply do not match. Each row has a
// checksum; a damaged one is skipped. A cache is data, never code: what it names is only run when the
// operator offers an algorithm of that name for the problem at hand.
class MGE_API FastrunCache {
public:
    // Made when it does not exist. ModelError when the file is no cache or damaged as a whole, UserError when
    // it cannot be opened; both name it. Null: waits for other processes' locks for long (half a minute).
    static std::unique_ptr<FastrunCache> open(const std::string& path,
                                              Durability durability = Durability::process,
                                              std::shared_ptr<LockWait> wait = nullptr);
    // Of an existing file, never written.
    static std::unique_ptr<FastrunCache> open_read_only(const std::string& path,
                                                        std::shared_ptr<LockWait> wait = nullptr);
    // For work that can go on without the cache.
    static std::shared_ptr<LockWait> short_wait(const std::string& path);
    // For work that has to go on whatever the cache is like: one that cannot be written is only read, one
    // that cannot be read is left alone and replaced by an empty one in memory; find() and store() do not
    // throw, and wait for locks only as short_wait() does. One warning says what happened. A file that the
    // user named and that is no cache is a ModelError all the same.
    static std::unique_ptr<FastrunCache> open_tolerant(const std::string& path,
                                                       Durability durability = Durability::process,
                                                       CacheName name = CacheName::by_default);
    // The same of one that is open.
    static std::unique_ptr<FastrunCache> made_tolerant(std::unique_ptr<FastrunCache> cache);
    // The same for work that stores nothing: it is never written, and may be missing.
    static std::unique_ptr<FastrunCache> open_to_look_up(const std::string& path,
                                                         CacheName name = CacheName::by_default);
    static std::unique_ptr<FastrunCache> in_memory();
    // The bytes of such a file, e.g. of one that was decrypted, copied into memory; what is stored stays
    // there. `label` stands for the path.
    static std::unique_ptr<FastrunCache> from_bytes(std::span<const std::byte> file,
                                                    const std::string& label);
    // The same, and every change is made in the storage's content of that moment and given to it, so that
    // others may write it, too. Tolerant: find() and store() do not throw, as of open_tolerant; what cannot
    // be stored is known to this cache alone.
    static std::unique_ptr<FastrunCache> from_storage(std::span<const std::byte> file,
                                                      const std::string& label,
                                                      std::unique_ptr<CacheStorage> storage,
                                                      bool is_tolerant = false);
    // mge/fastrun.sqlite in cache_folder(); nullopt when there is none.
    static std::optional<std::string> default_path();
    // The key of rows that are for this machine.
    static std::string machine(DeviceId device = {});
    ~FastrunCache();

    // The intact rows of a problem on this machine, fastest first; nullopt when there are none.
    std::optional<std::vector<Measurement>> find(const Problem& problem, Neighbourhood beside = {});
    // `considered`: the names of the algorithms and of their candidates that there were, measured or not,
    // since some are hopeless and others refuse the problem.
    void store(const Problem& problem, const std::vector<Measurement>& measured,
               std::span<const std::string> considered = {}, Neighbourhood beside = {});
    // Those of all times that the problem was stored here; nullopt: nobody said, or nothing may be written,
    // so that whoever measures for the sake of others would do so for ever.
    std::optional<std::vector<std::string>> considered(const Problem& problem, Neighbourhood beside = {});
    const std::string& path() const { return path_; }

    // Every row, in order of machine, problem and time.
    std::vector<CacheRow> rows();
    // Adds the intact ones of these rows, all or none; of two for the same machine, problem and algorithm the
    // newer one stays, one of a time to come counting as old. Own damaged rows go. Returns how many were
    // added or replaced.
    size_t merge(std::span<const CacheRow> rows);
    // Returns how many there were.
    size_t remove(std::span<const CacheRow> rows);
    // What is wrong with the file and its rows, a line each.
    std::vector<std::string> verify();
    // Gives the space of removed rows back.
    void compact();
    // The bytes of the file that it is, or would be.
    std::vector<std::byte> bytes();
    // All that was stored is in the file itself and on the disk, nothing in a log beside it.
    void flush();

private:
    enum class Access { write, read };
    using Connect = std::function<std::unique_ptr<Database>()>;
    FastrunCache(const std::string& path, Access access, Connect connect);
    std::vector<Measurement> find_intact(const std::string& machine, const std::string& problem);
    // All that changes rows.
    void change(const std::function<void(Database&)>& body);
    void warn(const std::exception& failure);

    std::string path_;
    Access access_;
    bool is_tolerant_ = false;
    std::unique_ptr<CacheStorage> storage_;  // null: the database is a file, or nothing is kept
    std::atomic<bool> has_lost_storage_{false};
    // SQLite's connections do not survive fork(). A child of a cache in memory starts with an empty one.
    PerProcess<Database> connection_;
};

}  // namespace mge
