// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/fastrun_cache.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <functional>
#include <sstream>

#include "libmge/base/files/cache_folder.h"
#include "libmge/base/hash.h"
#include "libmge/base/log.h"
#include "libmge/device/device.h"
#include "libmge/kernel/database.h"
#include "libmge/kernel/measure/measure.h"

namespace mge {
namespace {

constexpr int schema_version = 3;

constexpr const char* schema = R"(
CREATE TABLE IF NOT EXISTS measurement (
    machine TEXT NOT NULL,        -- device model, ISA, library versions
    problem TEXT NOT NULL,        -- operator, parameters, specs, threads, precision
    algorithm TEXT NOT NULL,
    milliseconds REAL NOT NULL,
    workspace INTEGER NOT NULL,   -- bytes
    attributes INTEGER NOT NULL,
    measured_at INTEGER NOT NULL, -- seconds since 1970
    doubts INTEGER NOT NULL,      -- searches in a row that could not trust the time; 0: it is trusted
    checksum INTEGER NOT NULL,    -- of all of the above
    PRIMARY KEY (machine, problem, algorithm)
) WITHOUT ROWID;
)";
// Programs that do not know this table ignore it, so the format is the same.
constexpr const char* considered_schema = R"(
CREATE TABLE IF NOT EXISTS considered (
    machine TEXT NOT NULL,
    problem TEXT NOT NULL,
    algorithms TEXT NOT NULL,     -- that there were when it was measured, a line each
    PRIMARY KEY (machine, problem)
) WITHOUT ROWID;
)";
constexpr const char* measured_columns =
    "algorithm, milliseconds, workspace, attributes, measured_at, doubts, checksum";

int64_t pack(const Attributes& a) {
    return a.reproducible | a.naive << 1 | a.accuracy_depends_on_batch << 2 | a.usable_depends_on_shape << 3 |
           a.locks << 4;
}
Attributes unpack(int64_t bits) {
    return {bool(bits & 1), bool(bits & 2), bool(bits & 4), bool(bits & 8), bool(bits & 16)};
}

// The prefix of a row's checksum.
std::string checked_key(std::string_view machine, std::string_view problem) {
    std::string key;
    key.reserve(machine.size() + problem.size() + 2);
    key.append(machine).push_back('\0');
    key.append(problem).push_back('\0');
    return key;
}

int64_t checksum_of(const std::string& checked_key, const Measurement& m, int64_t measured_at,
                    bool with_doubts = true) {
    std::string all;
    all.reserve(checked_key.size() + m.name.size() + 64);
    all.append(checked_key).append(m.name).push_back('\0');
    auto append = [&](auto number) { all.append(reinterpret_cast<const char*>(&number), sizeof number); };
    append(m.milliseconds);
    append(int64_t(m.workspace));
    append(pack(m.attributes));
    append(measured_at);
    if (with_doubts) append(int64_t(m.doubts));
    return int64_t(checksum(all));
}

// The measured columns of a row, which begin at `first`.
struct StoredTime {
    Measurement measured;
    int64_t measured_at;
    bool is_intact;
};
StoredTime stored_time(const Statement& s, int first, const std::string& checked_key) {
    enum Column { name, milliseconds, workspace, attributes, measured_at, doubts, row_checksum };
    auto integer = [&](Column column) { return s.integer(first + column); };
    Measurement m{s.text(first + name), s.real(first + milliseconds), size_t(integer(workspace)),
                  unpack(integer(attributes)), int(integer(doubts))};
    int64_t at = integer(measured_at);
    if (m.doubts) m.doubted_at = at;
    bool is_intact = integer(row_checksum) == checksum_of(checked_key, m, at) &&
                     integer(attributes) == pack(m.attributes) && std::isfinite(m.milliseconds) &&
                     m.milliseconds >= 0 && integer(workspace) >= 0 && !m.name.empty() && m.doubts >= 0 &&
                     m.doubts == integer(doubts);
    return {std::move(m), at, is_intact};
}

CacheRow row_of(const Statement& s) {
    std::string machine = s.text(0), problem = s.text(1);
    StoredTime time = stored_time(s, 2, checked_key(machine, problem));
    return {std::move(machine), std::move(problem), std::move(time.measured), time.measured_at,
            time.is_intact};
}

void insert(Statement& statement, const CacheRow& row) {
    auto& m = row.measured;
    statement.reset();
    statement.bind(1, row.machine).bind(2, row.problem).bind(3, m.name).bind(4, m.milliseconds);
    statement.bind(5, int64_t(m.workspace)).bind(6, pack(m.attributes)).bind(7, row.measured_at);
    statement.bind(8, int64_t(m.doubts));
    statement.bind(9, checksum_of(checked_key(row.machine, row.problem), m, row.measured_at)).step();
}

int version_of(Database& db) {
    auto query = db.prepare("PRAGMA user_version");
    query.step();
    return int(query.integer(0));
}

// Formats 1 and 2 did not record other load during a measurement, so their times are doubted.
constexpr int doubts_of_old_formats = 1;

// Format 1 had neither time nor checksum.
void import_first_format(Database& db) {
    auto old = db.prepare(
        "SELECT machine, problem, algorithm, milliseconds, workspace, attributes FROM algorithm_time");
    auto added = db.prepare("INSERT OR IGNORE INTO measurement VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    while (old.step())
        insert(added, {old.text(0),
                       old.text(1),
                       {old.text(2), old.real(3), size_t(old.integer(4)), unpack(old.integer(5)),
                        doubts_of_old_formats},
                       0});
    db.execute("DROP TABLE algorithm_time");
}

// A row of format 2 with the checksum that it had; nullopt when it is damaged.
std::optional<CacheRow> row_of_second_format(const Statement& s) {
    CacheRow row{s.text(0),
                 s.text(1),
                 {s.text(2), s.real(3), size_t(s.integer(4)), unpack(s.integer(5)), doubts_of_old_formats},
                 s.integer(6)};
    int64_t expected =
        checksum_of(checked_key(row.machine, row.problem), row.measured, row.measured_at, false);
    if (s.integer(7) != expected || s.integer(5) != pack(row.measured.attributes)) return std::nullopt;
    return row;
}

// Damaged rows stay so: their checksum fits neither.
void import_second_format(Database& db) {
    std::vector<CacheRow> intact;
    {
        auto old = db.prepare(
            "SELECT machine, problem, algorithm, milliseconds, workspace, attributes, measured_at, checksum "
            "FROM measurement");
        while (old.step())
            if (auto row = row_of_second_format(old)) intact.push_back(std::move(*row));
    }
    db.execute("ALTER TABLE measurement RENAME TO second_format");
    db.execute(schema);
    db.execute(
        text("INSERT INTO measurement SELECT machine, problem, algorithm, milliseconds, workspace, "
             "attributes, measured_at, ",
             doubts_of_old_formats, ", checksum FROM second_format"));
    db.execute("DROP TABLE second_format");
    auto renewed = db.prepare("INSERT OR REPLACE INTO measurement VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    for (auto& row : intact) insert(renewed, row);
}

bool has_considered(const Database& db) {
    return db.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'considered'").step();
}

void make_schema(Database& db) {
    if (version_of(db) == schema_version && has_considered(db)) return;
    Transaction transaction(db);
    db.execute(considered_schema);
    int found = version_of(db);  // another process may have been quicker
    if (found == 2) import_second_format(db);
    db.execute(schema);
    if (found == 1) import_first_format(db);
    db.execute(text("PRAGMA user_version=", schema_version));
    transaction.commit();
}

// Counts the tables for which the condition holds.
int64_t tables(const Database& db, const char* condition) {
    auto query =
        db.prepare(text("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND ", condition).c_str());
    query.step();
    return query.integer(0);
}

// Other programs use SQLite databases, too. In one transaction: another process may be making the tables.
void check_format(Database& db, const std::string& path) {
    db.execute("BEGIN");
    int found = version_of(db);
    int64_t all = tables(db, "true"), ours = tables(db, "name IN ('measurement', 'algorithm_time')");
    db.execute("COMMIT");
    if (found < 0 || found > schema_version)
        throw ModelError(
            text("fast-run cache '", path, "' has format ", found, ", this program reads ", schema_version));
    if (all > 0 && (found == 0 || ours == 0))
        throw ModelError(
            text("'", path, "' is a database of another program, no fast-run cache; give another file"));
}

// Changing the journal's mode needs the file for itself, and SQLite does not wait for it.
void enter_wal_mode(Database& db) {
    for (int tries = 0;; ++tries) {
        int code = sqlite3_exec(db.handle(), "PRAGMA journal_mode=WAL", nullptr, nullptr, nullptr);
        if (code == SQLITE_OK) return;
        bool is_locked = code == SQLITE_BUSY || code == SQLITE_LOCKED;
        if (!is_locked || !db.wait_for_lock(tries)) db.fail();
    }
}

// Opening a pipe would block, and a device is not a cache.
void require_ordinary_file(const std::string& path) {
    std::error_code unknown;  // opening it reports a better error
    auto status = std::filesystem::status(path, unknown);
    if (unknown || !std::filesystem::exists(status) || std::filesystem::is_regular_file(status)) return;
    throw UserError(text("fast-run cache '", path, "' is a ",
                         std::filesystem::is_directory(status) ? "folder" : "pipe or device",
                         ", no file; give the name of a file"));
}

// A killed process leaves its log, which every later open reads completely.
void checkpoint_long_log(Database& db, const std::string& path) {
    constexpr uintmax_t long_log = 256 << 10;
    std::error_code unknown;
    uintmax_t bytes = std::filesystem::file_size(path + "-wal", unknown);
    if (!unknown && bytes >= long_log) db.checkpoint_log();
}

using Wait = std::shared_ptr<LockWait>;

// Longer than any transaction of many writers on a slow disk takes.
constexpr LockWait::Milliseconds long_wait{30'000}, limit_of_short_wait{5'000};

Wait make_wait(const std::string& path, LockWait::Milliseconds limit) {
    return std::make_shared<LockWait>(text("fast-run cache '", path, "'"), limit);
}

std::unique_ptr<Database> connect_to_write(const std::string& path, Durability durability, const Wait& wait) {
    require_ordinary_file(path);
    auto db = std::make_unique<Database>(path, Database::Mode::write, wait);
    check_format(*db, path);
    enter_wal_mode(*db);
    db->execute(text("PRAGMA synchronous=", durability == Durability::process ? "NORMAL" : "FULL"));
    make_schema(*db);
    checkpoint_long_log(*db, path);
    return db;
}

// A database in memory that begins as a copy of these bytes.
std::unique_ptr<Database> connect_to_bytes(std::span<const std::byte> file, const std::string& label) {
    auto db = std::make_unique<Database>(file, label);
    check_format(*db, label);
    make_schema(*db);
    return db;
}

// Older formats are read as a copy in memory, which is brought to this one.
std::unique_ptr<Database> connect_to_read(const std::string& path, const Wait& wait) {
    require_ordinary_file(path);
    auto db = std::make_unique<Database>(path, Database::Mode::read, wait);
    check_format(*db, path);
    if (version_of(*db) == schema_version) return db;
    return connect_to_bytes(db->bytes(), path);
}

void put(Database& db, std::span<const CacheRow> rows, bool keep_newer) {
    Transaction transaction(db);
    std::string sql =
        "INSERT INTO measurement VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT DO UPDATE SET milliseconds = excluded.milliseconds, "
        "workspace = excluded.workspace, attributes = excluded.attributes, "
        "measured_at = excluded.measured_at, doubts = excluded.doubts, checksum = excluded.checksum";
    // Trusted rows come before doubted ones, then newer rows before older. A clock that was ahead would win
    // for ever, so its rows are the oldest of all, older than any time before 1970.
    if (keep_newer) {
        auto rank = [now = std::time(nullptr)](const std::string& table) {
            return text('(', table, ".doubts = 0, CASE WHEN ", table, ".measured_at > ", now,
                        " THEN -(1 << 62) ELSE ", table, ".measured_at END)");
        };
        sql += text(" WHERE ", rank("excluded"), " > ", rank("measurement"));
    }
    auto statement = db.prepare(sql.c_str());
    for (auto& row : rows) insert(statement, row);
    transaction.commit();
}

void erase(Database& db, std::span<const CacheRow> rows) {
    Transaction transaction(db);
    auto statement =
        db.prepare("DELETE FROM measurement WHERE machine = ? AND problem = ? AND algorithm = ?");
    for (auto& row : rows) {
        statement.reset();
        statement.bind(1, row.machine).bind(2, row.problem).bind(3, row.measured.name).step();
    }
    db.execute(
        "DELETE FROM considered WHERE (machine, problem) NOT IN (SELECT machine, problem FROM measurement)");
    transaction.commit();
}

// Ends the reading of a statement, which would block all writers.
class Reset {
public:
    explicit Reset(Statement& statement) : statement_(statement) {}
    ~Reset() { statement_.reset(); }
    Reset(const Reset&) = delete;
    Reset& operator=(const Reset&) = delete;

private:
    Statement& statement_;
};

std::optional<std::vector<std::string>> find_considered(Database& db, const std::string& machine,
                                                        const std::string& problem) {
    static const std::string sql = "SELECT algorithms FROM considered WHERE machine = ? AND problem = ?";
    Statement& query = db.reused(sql);
    Reset at_the_end(query);
    query.bind(1, machine).bind(2, problem);
    if (!query.step()) return std::nullopt;
    std::vector<std::string> names;
    std::istringstream lines(query.text(0));
    for (std::string line; std::getline(lines, line);) names.push_back(line);
    return names;
}

// Another program may know algorithms that this one does not: they stay.
void add_considered(Database& db, const std::string& machine, const std::string& problem,
                    std::span<const std::string> algorithms) {
    if (algorithms.empty()) return;
    Transaction transaction(db);
    auto names = find_considered(db, machine, problem).value_or(std::vector<std::string>{});
    for (auto& name : algorithms)
        if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
    std::string lines;
    for (auto& name : names) lines.append(name).push_back('\n');
    auto statement = db.prepare("INSERT OR REPLACE INTO considered VALUES (?, ?, ?)");
    statement.bind(1, machine).bind(2, problem).bind(3, lines).step();
    transaction.commit();
}

// Called in a handler: rethrows the error if the user named a file that is no cache.
void refuse_named_file(CacheName name, const Error& error) {
    bool is_no_cache = dynamic_cast<const ModelError*>(&error) && !dynamic_cast<const DamagedCache*>(&error);
    if (name == CacheName::by_user && is_no_cache) throw;
}

void warn(const std::exception& failure) { log_warning(text(failure.what(), "; going on without it")); }

}  // namespace

FastrunCache::FastrunCache(const std::string& path, Access access, Connect connect)
    : path_(path), access_(access), connection_(std::in_place, [connect](Database*) { return connect(); }) {}

FastrunCache::~FastrunCache() {
    std::lock_guard lock(sqlite_mutex());
    connection_.reset();
}

std::unique_ptr<FastrunCache> FastrunCache::open(const std::string& path, Durability durability, Wait wait) {
    if (!wait) wait = make_wait(path, long_wait);
    auto folder = std::filesystem::path(path).parent_path();
    std::error_code ignored;  // opening the file reports a better error
    if (!folder.empty() && path != ":memory:") std::filesystem::create_directories(folder, ignored);
    std::lock_guard lock(sqlite_mutex());
    return std::unique_ptr<FastrunCache>(new FastrunCache(
        path, Access::write, [path, durability, wait] { return connect_to_write(path, durability, wait); }));
}

std::unique_ptr<FastrunCache> FastrunCache::open_read_only(const std::string& path, Wait wait) {
    if (!wait) wait = make_wait(path, long_wait);
    std::lock_guard lock(sqlite_mutex());
    return std::unique_ptr<FastrunCache>(
        new FastrunCache(path, Access::read, [path, wait] { return connect_to_read(path, wait); }));
}

Wait FastrunCache::short_wait(const std::string& path) { return make_wait(path, limit_of_short_wait); }

std::unique_ptr<FastrunCache> FastrunCache::open_tolerant(const std::string& path, Durability durability,
                                                          CacheName name) {
    std::unique_ptr<FastrunCache> cache;
    auto wait = short_wait(path);  // for both tries
    try {
        cache = open(path, durability, wait);
    } catch (const Error& cannot_write) {
        refuse_named_file(name, cannot_write);
        try {
            cache = open_read_only(path, wait);
            log_warning(text(cannot_write.what(), "; it is read, and what is measured is not kept"));
        } catch (const Error& cannot_read) {
            refuse_named_file(name, cannot_read);
            warn(cannot_write);
            cache = in_memory();
        }
    }
    return made_tolerant(std::move(cache));
}

std::unique_ptr<FastrunCache> FastrunCache::made_tolerant(std::unique_ptr<FastrunCache> cache) {
    cache->is_tolerant_ = true;
    return cache;
}

std::unique_ptr<FastrunCache> FastrunCache::open_to_look_up(const std::string& path, CacheName name) {
    std::unique_ptr<FastrunCache> cache;
    std::error_code unknown;  // opening it reports a better error
    try {
        bool is_there = std::filesystem::exists(path, unknown) || unknown;
        cache = is_there ? open_read_only(path, short_wait(path)) : in_memory();
    } catch (const Error& cannot_read) {
        refuse_named_file(name, cannot_read);
        warn(cannot_read);
        cache = in_memory();
    }
    return made_tolerant(std::move(cache));
}

std::unique_ptr<FastrunCache> FastrunCache::in_memory() { return open(":memory:"); }

std::unique_ptr<FastrunCache> FastrunCache::from_bytes(std::span<const std::byte> file,
                                                       const std::string& label) {
    auto kept = std::make_shared<std::vector<std::byte>>(file.begin(), file.end());
    std::lock_guard lock(sqlite_mutex());
    return std::unique_ptr<FastrunCache>(
        new FastrunCache(label, Access::write, [kept, label] { return connect_to_bytes(*kept, label); }));
}

std::unique_ptr<FastrunCache> FastrunCache::from_storage(std::span<const std::byte> file,
                                                         const std::string& label,
                                                         std::unique_ptr<CacheStorage> storage,
                                                         bool is_tolerant) {
    auto cache = from_bytes(file, label);
    cache->storage_ = std::move(storage);
    cache->is_tolerant_ = is_tolerant;
    return cache;
}

std::optional<std::string> FastrunCache::default_path() {
    auto folder = cache_folder();
    return folder ? std::optional(*folder + "/mge/fastrun.sqlite") : std::nullopt;
}

std::string FastrunCache::machine(DeviceId id) { return device(id).fingerprint(); }

bool FastrunCache::try_or_warn(const std::function<void()>& body) {
    try {
        body();
        return true;
    } catch (const Error& e) {
        if (!is_tolerant_) throw;
        warn(e);
        return false;
    }
}

std::vector<Measurement> FastrunCache::find_intact(const std::string& machine, const std::string& problem) {
    // Sorting a few rows costs SQLite more than finding them.
    static const std::string sql =
        text("SELECT ", measured_columns, " FROM measurement WHERE machine = ? AND problem = ?");
    Statement& query = connection_->get().reused(sql);
    Reset at_the_end(query);
    query.bind(1, machine).bind(2, problem);
    std::vector<Measurement> result;
    const std::string checked = checked_key(machine, problem);
    while (query.step()) {
        StoredTime time = stored_time(query, 0, checked);
        if (time.is_intact)
            result.push_back(std::move(time.measured));
        else
            log_warning(text("fast-run cache '", path_,
                             "' has damaged rows, which are skipped; mge-fastrun-cache verify lists them"));
    }
    sort_by_time(result);
    return result;
}

std::optional<std::vector<Measurement>> FastrunCache::find(const Problem& problem, Neighbourhood beside) {
    // Before the lock: the first use of a device makes it, under locks that a fork takes before this one.
    std::string here = machine(problem.device), key = problem.key() + beside.key();
    std::lock_guard lock(sqlite_mutex());
    std::vector<Measurement> result;
    try_or_warn([&] { result = find_intact(here, key); });
    return result.empty() ? std::nullopt : std::optional(std::move(result));
}

size_t FastrunCache::change(const std::function<void(Database&)>& body) {
    int changed = 0;
    auto count_changes = [&](Database& db) {
        int before = db.changes();
        body(db);
        changed = db.changes() - before;
    };
    if (!storage_ || has_lost_storage_) {
        std::lock_guard lock(sqlite_mutex());
        count_changes(connection_->get());
        return size_t(changed);
    }
    // The storage's lock comes first: it may take long.
    storage_->update([&](CacheStorage::Bytes present) {
        std::lock_guard lock(sqlite_mutex());
        auto& db = connection_->get();
        db = std::move(*connect_to_bytes(present, path_));
        count_changes(db);
        return db.bytes();
    });
    return size_t(changed);
}

std::optional<std::vector<std::string>> FastrunCache::considered(const Problem& problem,
                                                                 Neighbourhood beside) {
    if (access_ == Access::read) return std::nullopt;
    std::string here = machine(problem.device), key = problem.key() + beside.key();
    std::lock_guard lock(sqlite_mutex());
    std::optional<std::vector<std::string>> result;
    try_or_warn([&] { result = find_considered(connection_->get(), here, key); });
    return result;
}

void FastrunCache::store(const Problem& problem, const std::vector<Measurement>& measured,
                         std::span<const std::string> considered, Neighbourhood beside) {
    if (access_ == Access::read && is_tolerant_) return;
    const std::string here = machine(problem.device), key = problem.key() + beside.key();
    std::vector<CacheRow> rows;
    for (auto& m : measured) rows.push_back({here, key, m, int64_t(std::time(nullptr))});
    auto add = [&](Database& db) {
        put(db, rows, false);
        add_considered(db, here, key, considered);
    };
    if (try_or_warn([&] { change(add); }) || !storage_ || has_lost_storage_.exchange(true)) return;
    store(problem, measured, considered, beside);  // for this process
}

std::vector<CacheRow> FastrunCache::rows() {
    std::lock_guard lock(sqlite_mutex());
    auto query = connection_->get().prepare(
        text("SELECT machine, problem, ", measured_columns,
             " FROM measurement ORDER BY machine, problem, milliseconds, algorithm")
            .c_str());
    std::vector<CacheRow> rows;
    while (query.step()) rows.push_back(row_of(query));
    return rows;
}

size_t FastrunCache::merge(std::span<const CacheRow> added) {
    auto is_damaged = [](const CacheRow& row) { return !row.is_intact; };
    auto own = rows();
    std::erase_if(own, std::not_fn(is_damaged));
    remove(own);  // otherwise they might win
    std::vector<CacheRow> intact(added.begin(), added.end());
    std::erase_if(intact, is_damaged);
    return change([&](Database& db) { put(db, intact, true); });
}

size_t FastrunCache::remove(std::span<const CacheRow> removed) {
    return removed.empty() ? 0 : change([&](Database& db) { erase(db, removed); });
}

std::vector<std::string> FastrunCache::verify() {
    std::vector<std::string> faults;
    {
        std::lock_guard lock(sqlite_mutex());
        auto query = connection_->get().prepare("PRAGMA integrity_check");
        while (query.step())
            if (std::string line = query.text(0); line != "ok") faults.push_back(line);
    }
    if (!faults.empty()) return faults;
    for (auto& row : rows())
        if (!row.is_intact)
            faults.push_back(text("the row of '", row.measured.name, "' for ", row.problem, " on ",
                                  row.machine, " is not as it was written"));
    return faults;
}

void FastrunCache::compact() {
    change([](Database& db) { db.execute("VACUUM"); });
}

std::vector<std::byte> FastrunCache::bytes() {
    std::lock_guard lock(sqlite_mutex());
    return connection_->get().bytes();
}

void FastrunCache::flush() {
    std::lock_guard lock(sqlite_mutex());
    connection_->get().execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

}  // namespace mge
