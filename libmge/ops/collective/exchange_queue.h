// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "libmge/base/api.h"

namespace mge::ops {

// Exchanges with other processes that run on a thread of their own while the caller computes, in the order of
// push(). Safe to use from several threads, but all processes have to push in one order.
class MGE_API ExchangeQueue {
public:
    class Job {
        std::function<void()> work_;
        std::exception_ptr error_;
        bool is_done_ = false;
        friend ExchangeQueue;
    };

    // The queue of this process; a child made by fork() has its own.
    static ExchangeQueue& of_process();

    ExchangeQueue() = default;
    ~ExchangeQueue();
    ExchangeQueue(const ExchangeQueue&) = delete;
    ExchangeQueue& operator=(const ExchangeQueue&) = delete;

    std::shared_ptr<Job> push(std::function<void()> work);
    // Returns when the job is done, and rethrows its error. When the wait is interrupted
    // (base/interruption.h), all jobs are cancelled.
    void wait(const std::shared_ptr<Job>& job);
    // Waits for all jobs; their errors are for wait(). Returns at once on the thread of the queue.
    void wait_for_all();
    // Makes the running job fail soon, and the later ones without having begun. Returns when all are done.
    void cancel();

private:
    void loop();
    void wait_until(std::unique_lock<std::mutex>& lock, const std::function<bool()>& is_true);

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::shared_ptr<Job>> jobs_;  // the first one runs
    std::atomic<size_t> count_ = 0;          // size of jobs_
    std::atomic<bool> is_cancelled_ = false;
    bool is_ending_ = false;
    std::thread thread_;
};

}  // namespace mge::ops
