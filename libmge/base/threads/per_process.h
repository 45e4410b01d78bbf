// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "libmge/base/api.h"

namespace mge {

// Number of fork() calls between the process that loaded the library and this one.
MGE_API int fork_generation();

// A value that a child made by fork() does not share with its parent: the child makes its own on first use.
// For objects that another thread may be using at the fork (its lock would never be released in the child),
// and for objects that two processes must not share (a connection to a database). The maker gets the parent's
// value, null the first time, which stays unchanged: a thread that does not exist in the child may be in the
// middle of an operation on it.
template <class T>
class PerProcess {
public:
    using Make = std::function<std::unique_ptr<T>(T* of_parent)>;
    explicit PerProcess(Make make = [](T*) { return std::make_unique<T>(); })
        : make_(std::move(make)),
          current_(std::make_unique<Entry>(fork_generation(), make_(nullptr)).release()) {}
    PerProcess(const PerProcess&) = delete;
    PerProcess& operator=(const PerProcess&) = delete;
    ~PerProcess() {
        Entry* entry = current_.load(std::memory_order_acquire);
        if (entry->generation == fork_generation()) std::unique_ptr<Entry>{entry};
    }

    T& get() {
        Entry* entry = current_.load(std::memory_order_acquire);
        if (entry->generation == fork_generation()) [[likely]]
            return *entry->value;
        auto fresh = std::make_unique<Entry>(fork_generation(), make_(entry->value.get()));
        // Another thread of the child may be quicker.
        if (!current_.compare_exchange_strong(entry, fresh.get(), std::memory_order_acq_rel))
            return *entry->value;
        return *fresh.release()->value;
    }

private:
    struct Entry {
        Entry(int g, std::unique_ptr<T> v) : generation(g), value(std::move(v)) {}
        int generation;
        std::unique_ptr<T> value;
    };
    Make make_;
    std::atomic<Entry*> current_;
};

// Returns this process's T, which is never destroyed: objects of static life, or libraries that are unloaded
// first, may be used after main().
template <class T>
T& lasting_per_process() {
    static auto& value = *std::make_unique<PerProcess<T>>().release();
    return value.get();
}

}  // namespace mge
