// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/fastrun_cache.h"

#include <sqlite3.h>

#include <cstring>
#include <filesystem>

#include "libmge/base/env.h"
#include "libmge/base/log.h"
#include "libmge/device/cpu/cpu_device.h"
#include "libmge/device/device.h"
#include "libmge/kernel/cpu/library_versions.h"

namespace mge {
namespace {

constexpr int busy_timeout_ms = 5000;
constexpr int schema_version = 1;

constexpr const char* schema = R"(
CREATE TABLE IF NOT EXISTS algorithm_time (
    machine TEXT NOT NULL,        -- device model, ISA, library versions
    problem TEXT NOT NULL,        -- operator, parameters, specs, threads, precision
    algorithm TEXT NOT NULL,
    milliseconds REAL NOT NULL,
    workspace INTEGER NOT NULL,
    attributes INTEGER NOT NULL,
    PRIMARY KEY (machine, problem, algorithm)
) WITHOUT ROWID;
)";

int64_t pack(const Attributes& a) {
    return a.reproducible | a.naive << 1 | a.accuracy_depends_on_batch << 2 | a.usable_depends_on_shape << 3 |
           a.locks << 4;
}
Attributes unpack(int64_t bits) {
    return {bool(bits & 1), bool(bits & 2), bool(bits & 4), bool(bits & 8), bool(bits & 16)};
}

std::string machine_key(DeviceId id) {
    return text(device(id).model(), " | ", name_of(cpu_isa()), " | ", library_versions());
}

struct Finalize {
    void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

[[noreturn]] void throw_sqlite(const std::string& path, sqlite3* db) {
    throw UserError(text("fast-run cache '", path, "': ", db ? sqlite3_errmsg(db) : "cannot be opened",
                         "; delete the file to start with an empty cache"));
}

Statement prepare(const std::string& path, sqlite3* db, const char* sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, nullptr) != SQLITE_OK) throw_sqlite(path, db);
    return Statement(statement);
}

void bind_text(sqlite3_stmt* s, int at, const std::string& value) {
    sqlite3_bind_text(s, at, value.data(), int(value.size()), SQLITE_TRANSIENT);
}

void execute(const std::string& path, sqlite3* db, const char* sql) {
    if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) != SQLITE_OK) throw_sqlite(path, db);
}

void check_version(const std::string& path, sqlite3* db) {
    auto query = prepare(path, db, "PRAGMA user_version");
    if (sqlite3_step(query.get()) != SQLITE_ROW) throw_sqlite(path, db);
    int found = sqlite3_column_int(query.get(), 0);
    if (found != 0 && found != schema_version)
        throw UserError(
            text("fast-run cache '", path, "' has format ", found, ", this program reads ", schema_version));
}

}  // namespace

void FastrunCache::Close::operator()(sqlite3* db) const { sqlite3_close_v2(db); }

FastrunCache::FastrunCache(std::string path, std::unique_ptr<sqlite3, Close> db)
    : path_(std::move(path)), db_(std::move(db)) {
    sqlite3_busy_timeout(db_.get(), busy_timeout_ms);
    check_version(path_, db_.get());
    execute(path_, db_.get(), "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;");
    execute(path_, db_.get(), schema);
    execute(path_, db_.get(), text("PRAGMA user_version=", schema_version).c_str());
}

FastrunCache::~FastrunCache() = default;

std::unique_ptr<FastrunCache> FastrunCache::open(const std::string& path) {
    auto folder = std::filesystem::path(path).parent_path();
    std::error_code ignored;  // opening the file tells it better
    if (!folder.empty() && path != ":memory:") std::filesystem::create_directories(folder, ignored);
    sqlite3* db = nullptr;
    int code = sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    std::unique_ptr<sqlite3, Close> owned(db);
    if (code != SQLITE_OK) throw_sqlite(path, db);
    return std::unique_ptr<FastrunCache>(new FastrunCache(path, std::move(owned)));
}

std::unique_ptr<FastrunCache> FastrunCache::in_memory() { return open(":memory:"); }

std::unique_ptr<FastrunCache> FastrunCache::from_bytes(std::span<const std::byte> file,
                                                       const std::string& label) {
    sqlite3* db = nullptr;
    int code = sqlite3_open(":memory:", &db);
    std::unique_ptr<sqlite3, Close> owned(db);
    if (code != SQLITE_OK) throw_sqlite(label, db);
    auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(file.size()));
    if (!copy && !file.empty()) throw MemoryError(text("no memory for the fast-run cache '", label, "'"));
    std::memcpy(copy, file.data(), file.size());
    // A write-ahead log is for files: the version numbers in the header say 1, the ordinary journal.
    constexpr size_t write_version = 18, read_version = 19;
    if (file.size() > read_version) copy[write_version] = copy[read_version] = 1;
    auto bytes = sqlite3_int64(file.size());
    constexpr unsigned flags = SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE;
    if (sqlite3_deserialize(db, "main", copy, bytes, bytes, flags) != SQLITE_OK) throw_sqlite(label, db);
    return std::unique_ptr<FastrunCache>(new FastrunCache(label, std::move(owned)));
}

std::string FastrunCache::default_path() {
    std::string base = env_string("XDG_CACHE_HOME").value_or(env_string("HOME").value_or("/tmp") + "/.cache");
    return base + "/mge/fastrun.sqlite";
}

std::optional<std::vector<Measurement>> FastrunCache::find(const Problem& problem) {
    std::lock_guard lock(mutex_);
    auto query = prepare(path_, db_.get(),
                         "SELECT algorithm, milliseconds, workspace, attributes FROM algorithm_time "
                         "WHERE machine = ? AND problem = ? ORDER BY milliseconds");
    bind_text(query.get(), 1, machine_key(problem.device));
    bind_text(query.get(), 2, problem.key());
    std::vector<Measurement> result;
    int code;
    while ((code = sqlite3_step(query.get())) == SQLITE_ROW) {
        auto* name = reinterpret_cast<const char*>(sqlite3_column_text(query.get(), 0));
        result.push_back({name ? name : "", sqlite3_column_double(query.get(), 1),
                          size_t(sqlite3_column_int64(query.get(), 2)),
                          unpack(sqlite3_column_int64(query.get(), 3))});
    }
    if (code != SQLITE_DONE) throw_sqlite(path_, db_.get());
    if (result.empty()) return std::nullopt;
    return result;
}

void FastrunCache::store(const Problem& problem, const std::vector<Measurement>& measured) {
    std::lock_guard lock(mutex_);
    std::string machine = machine_key(problem.device), key = problem.key();
    execute(path_, db_.get(), "BEGIN IMMEDIATE");
    auto insert =
        prepare(path_, db_.get(), "INSERT OR REPLACE INTO algorithm_time VALUES (?, ?, ?, ?, ?, ?)");
    for (auto& m : measured) {
        sqlite3_reset(insert.get());
        bind_text(insert.get(), 1, machine);
        bind_text(insert.get(), 2, key);
        bind_text(insert.get(), 3, m.name);
        sqlite3_bind_double(insert.get(), 4, m.milliseconds);
        sqlite3_bind_int64(insert.get(), 5, int64_t(m.workspace));
        sqlite3_bind_int64(insert.get(), 6, pack(m.attributes));
        if (sqlite3_step(insert.get()) != SQLITE_DONE) {
            std::string message = sqlite3_errmsg(db_.get());
            sqlite3_exec(db_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
            throw UserError(text("fast-run cache '", path_, "': cannot store: ", message));
        }
    }
    execute(path_, db_.get(), "COMMIT");
}

}  // namespace mge
