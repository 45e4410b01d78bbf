// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "libmge/base/api.h"

namespace mge {

// The thread that makes all calls of an engine. MPI wants one, and a caller that only waits for it can be
// interrupted.
class MGE_API EngineThread {
public:
    EngineThread();
    ~EngineThread();
    EngineThread(const EngineThread&) = delete;
    EngineThread& operator=(const EngineThread&) = delete;

    // Runs `work` on the thread, returns when it is done, and rethrows what it throws. The wait can be
    // interrupted (base/socket.h): `abort` is then called on the caller's thread, and has to make `work` end.
    // One call at a time.
    void run(std::function<void()> work, const std::function<void()>& abort);

private:
    void loop();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::function<void()> work_;  // empty: the last one is done
    std::exception_ptr error_;
    bool is_ending_ = false;
    std::thread thread_;
};

}  // namespace mge
