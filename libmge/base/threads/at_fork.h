// SPDX-License-Identifier: Apache-2.0
#pragma once
// Handlers of fork(), for objects in namespace scope. They register while the library is loaded. A handler
// that registers at first use is too late for a fork() by another thread during this use: the child finds a
// static object that is being made by a thread that it lacks, and waits forever.

#include <pthread.h>

namespace mge {

// Holds a lock across fork(), so that the child's copy of the data behind it is consistent and its lock is
// free. `lock` is a lambda without captures that returns the lock. fork() takes the locks in the reverse
// order of their registration.
template <class Lock>
class HeldAcrossFork {
public:
    explicit HeldAcrossFork(Lock lock) {
        lock();  // makes the data
        ::pthread_atfork([] { Lock{}().lock(); }, [] { Lock{}().unlock(); }, [] { Lock{}().unlock(); });
    }
};

// Runs `handler` in each child.
struct InChild {
    explicit InChild(void (*handler)()) { ::pthread_atfork(nullptr, nullptr, handler); }
};

}  // namespace mge
