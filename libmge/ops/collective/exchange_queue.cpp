// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/collective/exchange_queue.h"

#include <chrono>
#include <utility>

#include "libmge/base/error.h"
#include "libmge/base/interruption.h"
#include "libmge/base/threads/per_process.h"

namespace mge::ops {
namespace {

constexpr std::chrono::milliseconds queue_look_interval(100);

// On the queue's thread: set if its jobs are queue_is_cancelled.
thread_local const std::atomic<bool>* queue_is_cancelled = nullptr;

void stop_if_cancelled() {
    if (*queue_is_cancelled) throw UserError("an exchange between processes was interrupted");
}

}  // namespace

ExchangeQueue& ExchangeQueue::of_process() {
    static PerProcess<ExchangeQueue> queue;
    return queue.get();
}

ExchangeQueue::~ExchangeQueue() {
    cancel();
    {
        std::lock_guard lock(mutex_);
        is_ending_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

std::shared_ptr<ExchangeQueue::Job> ExchangeQueue::push(std::function<void()> work) {
    auto job = std::make_shared<Job>();
    job->work_ = std::move(work);
    {
        std::lock_guard lock(mutex_);
        if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
        jobs_.push_back(job);
        ++count_;
    }
    changed_.notify_all();
    return job;
}

void ExchangeQueue::wait(const std::shared_ptr<Job>& job) {
    std::unique_lock lock(mutex_);
    wait_until(lock, [&] { return job->is_done_; });
    if (job->error_) std::rethrow_exception(job->error_);
}

void ExchangeQueue::wait_for_all() {
    if (count_ == 0 || queue_is_cancelled) return;
    std::unique_lock lock(mutex_);
    wait_until(lock, [&] { return jobs_.empty(); });
}

void ExchangeQueue::wait_until(std::unique_lock<std::mutex>& lock, const std::function<bool()>& is_true) {
    while (!changed_.wait_for(lock, queue_look_interval, is_true)) {
        lock.unlock();
        try {
            check_interruption();
        } catch (...) {
            cancel();
            throw;
        }
        lock.lock();
    }
}

void ExchangeQueue::cancel() {
    if (count_ == 0) return;
    is_cancelled_ = true;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return jobs_.empty(); });
    is_cancelled_ = false;
}

void ExchangeQueue::loop() {
    queue_is_cancelled = &is_cancelled_;
    set_interruption_of_thread(stop_if_cancelled);
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return !jobs_.empty() || is_ending_; });
        if (jobs_.empty()) return;
        Job& job = *jobs_.front();
        lock.unlock();
        try {
            stop_if_cancelled();
            job.work_();
        } catch (...) {
            job.error_ = std::current_exception();
        }
        job.work_ = nullptr;
        lock.lock();
        job.is_done_ = true;
        jobs_.pop_front();
        --count_;
        changed_.notify_all();
    }
}

}  // namespace mge::ops
