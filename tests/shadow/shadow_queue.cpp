// SPDX-License-Identifier: Apache-2.0
#include "tests/shadow/shadow_queue.h"

#include <chrono>
#include <cstring>

#include "tests/shadow/shadow_memory.h"

namespace mge::test {
namespace {

constexpr int given_back = 0xcd;
constexpr int longest_delay = 40;  // microseconds

}  // namespace

struct ShadowQueue::Block : Storage {
    ShadowQueue* queue = nullptr;
};

class ShadowQueue::Mark final : public Event {
public:
    Mark(ShadowQueue& queue, uint64_t count) : queue_(queue), count_(count) {}
    void wait() const override { queue_.wait_until(count_); }
    double milliseconds_since(const Event& earlier) const override {
        wait();
        return double(count_ - dynamic_cast<const Mark&>(earlier).count_);
    }
    // An error of that work is passed on to the work that depends on it.
    std::shared_ptr<Failure> failure() const { return queue_.failure_before(count_); }

private:
    ShadowQueue& queue_;
    uint64_t count_;
};

ShadowQueue::ShadowQueue(ShadowFigures& figures, unsigned seed)
    : figures_(figures), random_(seed), thread_([this] { work(); }) {
    thread_.detach();  // queues live as long as the process
}

void ShadowQueue::add(std::function<void()> work) {
    Piece piece{std::move(work), work_origin()};
    {
        std::lock_guard lock(mutex_);
        open_.push_back(std::move(piece));
        ++enqueued_;
        last_caller_ = std::this_thread::get_id();
    }
    changed_.notify_all();
}

void ShadowQueue::fail_next(std::string text) {
    std::lock_guard lock(mutex_);
    next_failure_ = std::move(text);
}

void ShadowQueue::hold(bool holds) {
    {
        std::lock_guard lock(mutex_);
        is_held_ = holds;
    }
    changed_.notify_all();
}

std::thread::id ShadowQueue::last_caller() {
    std::lock_guard lock(mutex_);
    return last_caller_;
}

void ShadowQueue::do_piece(Piece& piece, const std::string& failing) {
    std::shared_ptr<Failure> failure;
    try {
        if (!failing.empty()) throw DeviceError(failing);
        piece.work();
    } catch (const std::shared_ptr<Failure>& of_another) {
        bool is_kept = piece.origin && piece.origin->keep(of_another->error);
        if (!is_kept) failure = of_another;
    } catch (...) {
        if (auto error = fail_work(piece.origin.get())) failure = std::make_shared<Failure>(error);
    }
    piece = {};
    std::lock_guard lock(mutex_);
    if (failure && !failure_) failure_ = std::move(failure);
}

void ShadowQueue::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return !open_.empty() && !is_held_; });
        Piece piece = std::move(open_.front());
        open_.pop_front();
        auto delay = std::chrono::microseconds(random_() % 4 == 0 ? random_() % longest_delay : 0);
        std::string failing = std::exchange(next_failure_, {});
        lock.unlock();
        if (delay.count()) std::this_thread::sleep_for(delay);
        do_piece(piece, failing);
        lock.lock();
        ++done_;
        changed_.notify_all();
    }
}

void ShadowQueue::wait_until(uint64_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= count; });
    auto failure = std::exchange(failure_, nullptr);
    lock.unlock();
    if (failure && !failure->is_reported.exchange(true)) std::rethrow_exception(failure->error);
}

std::shared_ptr<ShadowQueue::Failure> ShadowQueue::failure_before(uint64_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= count; });
    return failure_;
}

void ShadowQueue::wait() {
    std::unique_lock lock(mutex_);
    uint64_t count = enqueued_;
    lock.unlock();
    wait_until(count);
}

StorageRef ShadowQueue::allocate(size_t bytes) {
    size_t rounded = std::max<size_t>(64, (bytes + 63) / 64 * 64);
    size_t now = figures_.allocated.fetch_add(rounded) + rounded;
    if (size_t limit = figures_.limit; limit && now > limit) {
        figures_.allocated -= rounded;
        throw MemoryError(text("the shadow device has no ", bytes, " bytes: its limit is ", limit));
    }
    if (now > figures_.peak) figures_.peak = now;
    std::lock_guard lock(mutex_);
    if (Storage*& list = free_[rounded]) {
        Storage* storage = std::exchange(list, list->next_free);
        storage->users = 1;
        return StorageRef(storage);
    }
    auto block = std::make_unique<Block>();
    block->data = ShadowMemory::instance().allocate(rounded);
    if (!block->data) throw MemoryError("the shadow device has no addresses left");
    block->bytes = rounded;
    block->release = release;
    block->queue = this;
    figures_.reserved += rounded;
    return StorageRef(block.release());
}

void ShadowQueue::release(Storage* storage) {
    auto& block = static_cast<Block&>(*storage);
    block.queue->give_back(block);
}

void ShadowQueue::give_back(Block& block) {
    fill(block.data, given_back, block.bytes);
    figures_.allocated -= block.bytes;
    std::lock_guard lock(mutex_);
    Storage*& list = free_[block.bytes];
    block.next_free = list;
    list = &block;
}

void ShadowQueue::copy_from_host(void* target, const void* source, size_t bytes) {
    if (!bytes) return;  // which may be nowhere
    auto* from = static_cast<const char*>(source);
    auto kept = std::make_shared<std::string>(from, from + bytes);
    add([=] { std::memcpy(ShadowMemory::instance().on_host(target), kept->data(), bytes); });
}

void ShadowQueue::copy_to_host(void* target, const void* source, size_t bytes) {
    if (bytes) add([=] { std::memcpy(target, ShadowMemory::instance().on_host(source), bytes); });
    wait();
}

void ShadowQueue::copy(void* target, const void* source, size_t bytes) {
    if (!bytes) return;  // which may be nowhere
    add([=] {
        auto& memory = ShadowMemory::instance();
        std::memcpy(memory.on_host(target), memory.on_host(source), bytes);
    });
}

void ShadowQueue::fill(void* target, int byte, size_t bytes) {
    add([=] {
        if (bytes) std::memset(ShadowMemory::instance().on_host(target), byte, bytes);
    });
}

std::shared_ptr<const Event> ShadowQueue::record() {
    std::lock_guard lock(mutex_);
    return std::make_shared<Mark>(*this, enqueued_);
}

void ShadowQueue::wait_for(const Event& event) {
    auto& mark = dynamic_cast<const Mark&>(event);
    add([mark] {
        if (auto failure = mark.failure()) throw failure;
    });
}

}  // namespace mge::test
