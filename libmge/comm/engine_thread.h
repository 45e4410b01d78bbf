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

    // Runs `work` on the thread, returns when it is done, and rethrows what it throws. The caller's thread
    // asks about ten times a second whether the work has to stop, and whether the wait is interrupted
    // (base/interruption.h). If so, it calls `abort`, as often, until the work has ended. One call at a time.
    void run(const std::function<void()>& work, const std::function<bool()>& has_to_stop,
             const std::function<void()>& abort);

private:
    void loop();

    std::mutex mutex_;
    std::condition_variable given_, done_;
    const std::function<void()>* work_ = nullptr;  // null: the last one is done
    std::exception_ptr error_;
    bool is_ending_ = false;
    std::thread thread_;
};

}  // namespace mge
