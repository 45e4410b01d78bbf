// SPDX-License-Identifier: Apache-2.0
#pragma once
// A disk for SQLite that fails on request: a layer over the system's file functions, the default one from its
// construction on.

#include <sqlite3.h>

namespace mge {

class FailingDisk {
public:
    FailingDisk();
    ~FailingDisk();
    FailingDisk(const FailingDisk&) = delete;
    FailingDisk& operator=(const FailingDisk&) = delete;

    // From now on every write but the first `after` ends with the code.
    void fail(int code, int after);
    void heal();
    int failures() const;
};

}  // namespace mge
