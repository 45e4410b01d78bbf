// SPDX-License-Identifier: Apache-2.0
#include "tests/kernel/failing_disk.h"

#include <atomic>
#include <cstring>

namespace mge {
namespace {

std::atomic<int> failure_code{SQLITE_OK}, writes_left{0}, failures_so_far{0};

// SQLITE_OK while the disk is well or writes are left.
int next_write(int kind) {
    int code = failure_code;
    if (code == SQLITE_OK) return SQLITE_OK;
    bool concerns = code == SQLITE_IOERR_FSYNC     ? kind == SQLITE_IOERR_FSYNC
                    : code == SQLITE_IOERR_SHMSIZE ? kind == SQLITE_IOERR_SHMSIZE
                                                   : kind == SQLITE_IOERR_WRITE;
    if (!concerns || writes_left-- > 0) return SQLITE_OK;
    ++failures_so_far;
    return code;
}

// An open file: ours first, the system's behind it.
struct File {
    sqlite3_file base;
    sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};
sqlite3_file* real(sqlite3_file* file) { return reinterpret_cast<File*>(file)->real(); }
template <auto Method, class... Args>
int forward(sqlite3_file* file, Args... args) {
    return (real(file)->pMethods->*Method)(real(file), args...);
}

sqlite3_vfs* system_disk() {
    static sqlite3_vfs* disk = sqlite3_vfs_find(nullptr);
    return disk;
}

int write(sqlite3_file* file, const void* data, int bytes, sqlite3_int64 at) {
    if (int code = next_write(SQLITE_IOERR_WRITE)) return code;
    return real(file)->pMethods->xWrite(real(file), data, bytes, at);
}
int sync(sqlite3_file* file, int flags) {
    if (int code = next_write(SQLITE_IOERR_FSYNC)) return code;
    return real(file)->pMethods->xSync(real(file), flags);
}
int map_shared(sqlite3_file* file, int page, int bytes, int extend, void volatile** result) {
    if (int code = extend ? next_write(SQLITE_IOERR_SHMSIZE) : SQLITE_OK) return code;
    return real(file)->pMethods->xShmMap(real(file), page, bytes, extend, result);
}
void barrier(sqlite3_file* file) { real(file)->pMethods->xShmBarrier(real(file)); }

const sqlite3_io_methods methods = [] {
    using M = sqlite3_io_methods;
    sqlite3_io_methods m{};
    m.iVersion = 2;  // no memory mapping, which would write behind our back
    m.xClose = forward<&M::xClose>;
    m.xRead = forward<&M::xRead, void*, int, sqlite3_int64>;
    m.xWrite = write;
    m.xTruncate = forward<&M::xTruncate, sqlite3_int64>;
    m.xSync = sync;
    m.xFileSize = forward<&M::xFileSize, sqlite3_int64*>;
    m.xLock = forward<&M::xLock, int>;
    m.xUnlock = forward<&M::xUnlock, int>;
    m.xCheckReservedLock = forward<&M::xCheckReservedLock, int*>;
    m.xFileControl = forward<&M::xFileControl, int, void*>;
    m.xSectorSize = forward<&M::xSectorSize>;
    m.xDeviceCharacteristics = forward<&M::xDeviceCharacteristics>;
    m.xShmMap = map_shared;
    m.xShmLock = forward<&M::xShmLock, int, int, int>;
    m.xShmBarrier = barrier;
    m.xShmUnmap = forward<&M::xShmUnmap, int>;
    return m;
}();

int open_file(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    int code = system_disk()->xOpen(system_disk(), name, real(file), flags, out_flags);
    file->pMethods = real(file)->pMethods ? &methods : nullptr;
    return code;
}

sqlite3_vfs make_disk() {
    sqlite3_vfs disk = *system_disk();
    disk.zName = "failing";
    disk.szOsFile = int(sizeof(File)) + system_disk()->szOsFile;
    disk.xOpen = open_file;
    disk.pNext = nullptr;
    return disk;
}
sqlite3_vfs& failing_disk() {
    static sqlite3_vfs disk = make_disk();
    return disk;
}

}  // namespace

FailingDisk::FailingDisk() {
    system_disk();
    sqlite3_vfs_register(&failing_disk(), 1);
}

FailingDisk::~FailingDisk() {
    heal();
    sqlite3_vfs_register(system_disk(), 1);
}

void FailingDisk::fail(int code, int after) {
    writes_left = after;
    failures_so_far = 0;
    failure_code = code;
}
void FailingDisk::heal() { failure_code = SQLITE_OK; }
int FailingDisk::failures() const { return failures_so_far; }

}  // namespace mge
