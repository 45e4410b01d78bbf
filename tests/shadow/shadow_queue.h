// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include "libmge/device/device.h"
#include "libmge/device/work_origin.h"

namespace mge::test {

// Common state of the queues of one device.
struct ShadowFigures {
    std::atomic<size_t> allocated{0}, peak{0}, reserved{0}, limit{0}, page_locked{0};
};

class ShadowQueue final : public Queue {
public:
    ShadowQueue(ShadowFigures& figures, unsigned seed);

    StorageRef allocate(size_t bytes) override;
    void copy_from_host(void* target, const void* source, size_t bytes) override;
    void copy_to_host(void* target, const void* source, size_t bytes) override;
    void copy(void* target, const void* source, size_t bytes) override;
    void fill(void* target, int byte, size_t bytes) override;
    std::shared_ptr<const Event> record() override;
    // The device's clock goes on by one millisecond with each piece of work.
    std::shared_ptr<const Event> record_time() override { return has_clock_ ? record() : nullptr; }
    void wait_for(const Event& event) override;
    void wait() override;

    void add(std::function<void()> work);
    void fail_next(std::string text);
    void hold(bool holds);
    void hide_clock(bool hides) { has_clock_ = !hides; }
    std::thread::id last_caller();

private:
    class Mark;
    struct Block;
    static void release(Storage* storage);
    void give_back(Block& block);
    // An error of this queue's work and of dependent work on other queues, until it is reported once.
    struct Failure {
        std::exception_ptr error;
        std::atomic<bool> is_reported{false};
    };
    struct Piece {
        std::function<void()> work;
        std::shared_ptr<const WorkOrigin> origin;
    };
    void work();
    void do_piece(Piece& piece, const std::string& failing);
    void wait_until(uint64_t count);
    std::shared_ptr<Failure> failure_before(uint64_t count);

    ShadowFigures& figures_;
    std::minstd_rand random_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Piece> open_;
    uint64_t enqueued_ = 0, done_ = 0;
    std::shared_ptr<Failure> failure_;
    std::string next_failure_;
    bool is_held_ = false;
    std::atomic<bool> has_clock_{true};
    std::thread::id last_caller_;
    std::map<size_t, Storage*> free_;  // by bytes, linked
    std::thread thread_;
};

}  // namespace mge::test
