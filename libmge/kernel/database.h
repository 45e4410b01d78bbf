// SPDX-License-Identifier: Apache-2.0
#pragma once
// SQLite as the fast-run cache uses it. Every call is made with sqlite_mutex() held.

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/base/files/lock_wait.h"

namespace mge {

// Serialises SQLite, and blocks fork(): SQLite's own locks, shared by all connections, must be free in the
// child.
std::mutex& sqlite_mutex();

// A prepared statement. Parameters count from 1, columns from 0.
class Statement {
public:
    Statement& bind(int at, std::string_view text);
    Statement& bind(int at, int64_t number);
    Statement& bind(int at, double number);
    bool step();  // true: there is a row
    void reset();

    std::string text(int column) const;
    int64_t integer(int column) const { return sqlite3_column_int64(get(), column); }
    double real(int column) const { return sqlite3_column_double(get(), column); }

private:
    friend class Database;
    struct Finalize {
        void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
    };
    Statement(const class Database& database, sqlite3_stmt* statement)
        : database_(&database), statement_(statement) {}
    sqlite3_stmt* get() const { return statement_.get(); }

    const Database* database_;
    mutable uint64_t text_bytes_ = 0;  // read since the statement began
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
public:
    // `read` only needs read permission: in a folder without write permission, the file is read directly.
    enum class Mode { write, read };
    // ModelError if it is not a database or is damaged, UserError if it cannot be opened or created, or stays
    // locked for longer than `wait` allows; both name it.
    Database(std::string path, Mode mode, std::shared_ptr<LockWait> wait);
    // In memory only: a copy of a database file's bytes, which may be empty. `label` replaces the path.
    Database(std::span<const std::byte> file, std::string label);
    Database(Database&&) = default;
    Database& operator=(Database&&) = default;

    // The bytes of the file that it is, or would be.
    std::vector<std::byte> bytes() const;
    void execute(const std::string& sql);
    Statement prepare(const char* sql) const;
    // The same, prepared at the first call and kept; its user resets it.
    Statement& reused(const std::string& sql);
    // Moves the contents of the log into the file, unless others are using it: does not wait.
    void checkpoint_log();
    // Called when another process holds a lock: false if there is no time to wait, or no longer.
    bool wait_for_lock(int tries) const { return wait_for_lock(busy_.get(), tries) != 0; }
    // The number of rows changed since the database was opened.
    int changes() const { return sqlite3_total_changes(db_.get()); }
    sqlite3* handle() const { return db_.get(); }
    [[noreturn]] void fail() const;  // with SQLite's last message
    const std::string& path() const { return path_; }

private:
    struct Close {
        void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
    };
    struct Busy {
        std::shared_ptr<LockWait> wait;
        bool has_no_locks = false;  // the file system refuses them
    };
    static int wait_for_lock(void* busy, int tries);  // as SQLite's busy handler
    void open(const std::string& name, int flags);
    bool can_be_read() const;
    std::string why_locked() const;

    std::string path_;
    std::unique_ptr<Busy> busy_;
    std::unique_ptr<sqlite3, Close> db_;
    std::map<std::string, std::unique_ptr<Statement>> reused_;
};

// All changes during its lifetime are stored, or none: without commit() they are rolled back.
class Transaction {
public:
    explicit Transaction(Database& database) : database_(database) { database.execute("BEGIN IMMEDIATE"); }
    ~Transaction() {
        if (!is_done_) sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
    }
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    void commit() {
        database_.execute("COMMIT");
        is_done_ = true;
    }

private:
    Database& database_;
    bool is_done_ = false;
};

}  // namespace mge
