// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Python.h>
#include <unistd.h>

namespace mge::python {

// Before 3.14, Python ends a thread that waits for the lock of an exiting interpreter by unwinding its stack.
// The frames of C++ below may not be unwound, which would abort the process, so the thread sleeps here until
// the process ends.
template <class Wait>
auto wait_for_gil(Wait&& wait) noexcept {
    try {
        return wait();
    } catch (...) {
        for (;;) ::pause();
    }
}

// Lets other Python threads run for the life of the scope.
class GilReleased {
public:
    GilReleased() : state_(PyEval_SaveThread()) {}
    ~GilReleased() {
        wait_for_gil([this] { PyEval_RestoreThread(state_); });
    }
    GilReleased(const GilReleased&) = delete;
    GilReleased& operator=(const GilReleased&) = delete;

private:
    PyThreadState* state_;
};

// Lets this thread run Python for the life of the scope.
class GilAcquired {
public:
    GilAcquired() : state_(wait_for_gil(PyGILState_Ensure)) {}
    ~GilAcquired() { PyGILState_Release(state_); }
    GilAcquired(const GilAcquired&) = delete;
    GilAcquired& operator=(const GilAcquired&) = delete;

private:
    PyGILState_STATE state_;
};

}  // namespace mge::python
