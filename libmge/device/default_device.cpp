// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/default_device.h"

#include <atomic>
#include <utility>

namespace mge {
namespace {

std::atomic<DeviceId> of_process{DeviceId{}};
static_assert(std::atomic<DeviceId>::is_always_lock_free);

constinit thread_local std::optional<DeviceId> of_thread;

}  // namespace

DeviceId default_device() { return of_thread ? *of_thread : of_process.load(std::memory_order_relaxed); }

void set_default_device(DeviceId id) { of_process.store(id, std::memory_order_relaxed); }

std::optional<DeviceId> exchange_thread_device(std::optional<DeviceId> id) {
    return std::exchange(of_thread, id);
}

}  // namespace mge
