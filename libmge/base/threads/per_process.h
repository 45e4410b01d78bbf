// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "libmge/base/api.h"

namespace mge {

// How often this process and its ancestors were made by fork() since the first call.
MGE_API int fork_generation();

// A value that a child made by fork() does not share with its parent: it makes its own at first use. For what
// another thread may have been inside of (its lock is never given back in the child), and for what two
// processes must not use both (a connection to a database). The parent's value is given to the maker, null
// the first time, and stays as it was found: somebody who does not exist in the child may be in the middle of
// it.
template <class T>
class PerProcess {
public:
    using Make = std::function<std::unique_ptr<T>(T* of_parent)>;
    explicit PerProcess(Make make)
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

}  // namespace mge
