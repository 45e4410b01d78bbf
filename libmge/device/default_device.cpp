// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/default_device.h"

#include <atomic>
#include <bit>
#include <cstdint>
#include <utility>

namespace mge {
namespace {

// Stored as an integer: Clang would call a library function for an atomic struct.
using Word = uint32_t;
static_assert(sizeof(DeviceId) == sizeof(Word));
std::atomic<Word> of_process{std::bit_cast<Word>(DeviceId{})};

constinit thread_local std::optional<DeviceId> of_thread;

}  // namespace

DeviceId default_device() {
    return of_thread ? *of_thread : std::bit_cast<DeviceId>(of_process.load(std::memory_order_relaxed));
}

void set_default_device(DeviceId id) { of_process.store(std::bit_cast<Word>(id), std::memory_order_relaxed); }

std::optional<DeviceId> exchange_thread_device(std::optional<DeviceId> id) {
    return std::exchange(of_thread, id);
}

}  // namespace mge
