// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/database.h"

#include <algorithm>
#include <cerrno>

#include "libmge/base/files/file_limit.h"
#include "libmge/base/threads/at_fork.h"
#include "libmge/kernel/damaged_cache.h"

namespace mge {
namespace {

// Largest text or row in bytes: those in a cache are a few thousand long.
constexpr int longest_value = 1 << 24;

// For a file that is not changed: SQLite then needs neither locks nor other files.
std::string uri_of_immutable(const std::string& path) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string uri = path.starts_with('/') ? "file://" : "file:";
    for (char c : path) {
        auto byte = static_cast<unsigned char>(c);
        if (c == '?' || c == '#' || c == '%' || byte <= ' ' || byte >= 127) {
            uri += '%';
            uri += digits[byte >> 4];
            uri += digits[byte & 15];
        } else {
            uri += c;
        }
    }
    return uri + "?immutable=1";
}

const HeldAcrossFork sqlite_at_fork([]() -> auto& { return sqlite_mutex(); });

}  // namespace

std::mutex& sqlite_mutex() {
    static constinit std::mutex mutex;
    return mutex;
}

Statement& Statement::bind(int at, std::string_view text) {
    sqlite3_bind_text(get(), at, text.data(), int(text.size()), SQLITE_TRANSIENT);
    return *this;
}
Statement& Statement::bind(int at, int64_t number) {
    sqlite3_bind_int64(get(), at, number);
    return *this;
}
Statement& Statement::bind(int at, double number) {
    sqlite3_bind_double(get(), at, number);
    return *this;
}

bool Statement::step() {
    int code = sqlite3_step(get());
    if (code != SQLITE_ROW && code != SQLITE_DONE) database_->fail();
    return code == SQLITE_ROW;
}

void Statement::reset() {
    sqlite3_reset(get());
    text_bytes_ = 0;
}

std::string Statement::text(int column) const {
    auto* bytes = static_cast<const char*>(sqlite3_column_blob(get(), column));
    text_bytes_ += uint64_t(sqlite3_column_bytes(get(), column));
    FileBudget(database_->path(), 0).take(text_bytes_);
    return bytes ? std::string(bytes, size_t(sqlite3_column_bytes(get(), column))) : std::string();
}

Database::Database(std::string path, Mode mode, std::shared_ptr<LockWait> wait)
    : path_(std::move(path)), busy_(std::make_unique<Busy>(std::move(wait))) {
    open(path_, mode == Mode::write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);
    // Readers of a write-ahead log have to write beside the file, too.
    if (mode == Mode::read && !can_be_read())
        open(uri_of_immutable(path_), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

void Database::open(const std::string& name, int flags) {
    sqlite3* opened = nullptr;
    int code = sqlite3_open_v2(name.c_str(), &opened, flags, nullptr);
    db_.reset(opened);
    if (code != SQLITE_OK) fail();
    sqlite3_busy_handler(opened, wait_for_lock, busy_.get());
    // The file may come from an attacker: only tables are allowed in it, no code.
    for (int option :
         {SQLITE_DBCONFIG_ENABLE_VIEW, SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_TRUSTED_SCHEMA})
        sqlite3_db_config(opened, option, 0, nullptr);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, longest_value);
}

void Database::checkpoint_log() {
    sqlite3_busy_handler(db_.get(), nullptr, nullptr);
    sqlite3_wal_checkpoint_v2(db_.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
    sqlite3_busy_handler(db_.get(), wait_for_lock, busy_.get());
}

// SQLite counts a file system without locks as a locked file. Its last call is the one that was refused.
int Database::wait_for_lock(void* busy, int tries) {
    auto& b = *static_cast<Busy*>(busy);
    b.has_no_locks |= errno == ENOLCK;
    return !b.has_no_locks && b.wait && b.wait->wait_a_moment(tries == 0);
}

std::string Database::why_locked() const {
    if (busy_->has_no_locks) return "its file system has no locks; give a file elsewhere";
    std::string how_long = busy_->wait ? " after " + busy_->wait->limit_text() + " of waiting" : "";
    return text("another process still has it locked", how_long);
}

bool Database::can_be_read() const {
    int code =
        sqlite3_exec(db_.get(), "SELECT count(*) FROM sqlite_schema", nullptr, nullptr, nullptr) & 0xff;
    return code != SQLITE_CANTOPEN && code != SQLITE_READONLY;
}

Database::Database(std::span<const std::byte> file, std::string label)
    : Database(":memory:", Mode::write, nullptr) {
    path_ = std::move(label);
    // Sorting and rebuilding would otherwise use temporary files.
    execute("PRAGMA temp_store=MEMORY");
    if (file.empty()) return;
    auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(file.size() + 1));
    if (!copy) throw MemoryError(text("no memory for the fast-run cache '", path_, "'"));
    std::ranges::copy(file, reinterpret_cast<std::byte*>(copy));
    // A write-ahead log is for files: the version numbers in the header say 1, the ordinary journal.
    constexpr size_t write_version = 18, read_version = 19;
    if (file.size() > read_version) copy[write_version] = copy[read_version] = 1;
    auto bytes = sqlite3_int64(file.size());
    constexpr unsigned flags = SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE;
    if (sqlite3_deserialize(db_.get(), "main", copy, bytes, bytes, flags) != SQLITE_OK) fail();
}

void Database::fail() const {
    int code = db_ ? sqlite3_errcode(db_.get()) & 0xff : SQLITE_NOMEM;
    std::string what =
        text("fast-run cache '", path_, "': ", db_ ? sqlite3_errmsg(db_.get()) : "out of memory");
    if (code == SQLITE_NOTADB || code == SQLITE_ERROR)  // perhaps another file was meant
        throw ModelError(what + ": it is not a cache, or is damaged; give another");
    if (code == SQLITE_CORRUPT) throw DamagedCache(what + "; delete the file to begin with an empty cache");
    if (code == SQLITE_NOMEM) throw MemoryError(what);
    if (code == SQLITE_BUSY) throw UserError(text("fast-run cache '", path_, "': ", why_locked()));
    throw UserError(what);
}

std::vector<std::byte> Database::bytes() const {
    struct Free {
        void operator()(unsigned char* bytes) const { sqlite3_free(bytes); }
    };
    sqlite3_int64 size = 0;
    std::unique_ptr<unsigned char, Free> copy(sqlite3_serialize(db_.get(), "main", &size, 0));
    if (!copy && size == 0) throw ModelError(text("'", path_, "' is empty: it is not a fast-run cache"));
    if (!copy) throw MemoryError(text("no memory for the fast-run cache '", path_, "'"));
    auto content = std::as_bytes(std::span(copy.get(), size_t(size)));
    return {content.begin(), content.end()};
}

void Database::execute(const std::string& sql) {
    if (sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

Statement Database::prepare(const char* sql) const {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_.get(), sql, -1, &statement, nullptr) != SQLITE_OK) fail();
    return {*this, statement};
}

Statement& Database::reused(const std::string& sql) {
    auto& statement = reused_[sql];
    if (!statement) statement = std::make_unique<Statement>(prepare(sql.c_str()));
    return *statement;
}

}  // namespace mge
