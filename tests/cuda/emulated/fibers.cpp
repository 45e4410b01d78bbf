// SPDX-License-Identifier: Apache-2.0
// Runs the threads of a block. A fiber takes thread after thread; where one waits, the next fiber goes on
// with those behind it, so a kernel without barriers needs one fiber and no switch.
#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/cuda/emulated/context_switch.h"
#include "tests/cuda/emulated/cuda_runtime.h"
#include "tests/cuda/emulated/memory.h"
#include "tests/cuda/emulated/several.h"
#include "tests/cuda/emulated/streams.h"

namespace mge::cuda::emulated {

Index thread_index, block_index;
dim3 block_size, grid_size;

namespace {

constexpr size_t stack_bytes = 64 << 10, most_shared = 228 << 10;
constexpr unsigned most_threads = 1024;

void run_fiber();

struct Fiber {
    std::vector<char> stack = std::vector<char>(stack_bytes);
    Execution execution{stack, run_fiber};
};
struct Thread {
    Fiber* fiber = nullptr;
    Wait waits = Wait::none;
    unsigned long long given = 0;  // to the other lanes
};

// One launch at a time.
struct Machine {
    std::mutex mutex;
    Execution scheduler;
    std::vector<std::unique_ptr<Fiber>> all;
    std::vector<Fiber*> idle;
    std::vector<Thread> threads;
    size_t begun = 0, now = 0;
    Fiber* running = nullptr;
    const std::function<void()>* body = nullptr;
    alignas(16) std::array<char, most_shared> shared{};
};

Machine& machine() {
    static Machine& one = *std::make_unique<Machine>().release();
    return one;
}

void set_thread(size_t thread) {
    machine().now = thread;
    auto number = unsigned(thread);
    thread_index = {number % block_size.x, number / block_size.x % block_size.y,
                    number / block_size.x / block_size.y};
}

void run_fiber() {
    auto& m = machine();
    while (true) {
        while (m.begun < m.threads.size()) {
            size_t thread = m.begun++;
            set_thread(thread);
            m.threads[thread].fiber = m.running;
            (*m.body)();
            m.threads[thread].waits = Wait::done;
        }
        Fiber* self = m.running;
        m.idle.push_back(self);
        switch_between(self->execution, m.scheduler);
    }
}

Fiber* take_fiber() {
    auto& m = machine();
    if (m.idle.empty()) {
        m.all.push_back(std::make_unique<Fiber>());
        m.idle.push_back(m.all.back().get());
    }
    Fiber* fiber = m.idle.back();
    m.idle.pop_back();
    return fiber;
}

void resume(Fiber* fiber) {
    auto& m = machine();
    m.running = fiber;
    switch_between(m.scheduler, fiber->execution);
}

// All of [from, to) have come to this barrier or ended.
bool release(size_t from, size_t to, Wait kind) {
    auto& threads = machine().threads;
    bool is_any = false;
    for (size_t i = from; i < to; ++i) {
        if (threads[i].waits != kind && threads[i].waits != Wait::done) return false;
        is_any |= threads[i].waits == kind;
    }
    for (size_t i = from; i < to; ++i)
        if (threads[i].waits == kind) threads[i].waits = Wait::none;
    return is_any;
}

bool release_any() {
    size_t count = machine().threads.size();
    bool is_any = false;
    for (size_t warp = 0; warp < count; warp += 32)
        is_any |= release(warp, std::min(warp + 32, count), Wait::warp);
    return is_any || release(0, count, Wait::block);
}

// False: some wait where others never come.
bool run_block() {
    auto& m = machine();
    m.begun = 0;
    for (auto& thread : m.threads) thread = {};
    while (m.begun < m.threads.size()) resume(take_fiber());
    while (true) {
        bool is_done = true;
        for (auto& thread : m.threads) is_done &= thread.waits == Wait::done;
        if (is_done) return true;
        if (!release_any()) return false;
        for (size_t i = 0; i < m.threads.size(); ++i)
            if (m.threads[i].waits == Wait::none) {
                set_thread(i);
                resume(m.threads[i].fiber);
            }
    }
}

bool run_grid() {
    for (unsigned z = 0; z < grid_size.z; ++z)
        for (unsigned y = 0; y < grid_size.y; ++y)
            for (unsigned x = 0; x < grid_size.x; ++x) {
                block_index = {x, y, z};
                if (!run_block()) return false;
            }
    return true;
}

}  // namespace

void wait(Wait kind) {
    auto& m = machine();
    m.threads[m.now].waits = kind;
    switch_between(m.running->execution, m.scheduler);
}

unsigned long long exchange(unsigned long long value, int lane) {
    auto& m = machine();
    size_t self = m.now;
    m.threads[self].given = value;
    wait(Wait::warp);
    size_t from = self / 32 * 32 + size_t(lane);
    unsigned long long taken = from < m.threads.size() ? m.threads[from].given : value;
    wait(Wait::warp);  // other threads may still read the old values
    return taken;
}

unsigned lanes_where(unsigned long long value, Relation holds) {
    auto& m = machine();
    m.threads[m.now].given = value;
    wait(Wait::warp);
    unsigned lanes = 0;
    for (size_t lane = 0, first = m.now / 32 * 32; lane < 32 && first + lane < m.threads.size(); ++lane) {
        auto& other = m.threads[first + lane];
        if (other.waits != Wait::done && holds(other.given, value)) lanes |= 1u << lane;
    }
    wait(Wait::warp);  // other threads may still read the old values
    return lanes;
}

int lane() { return int(machine().now % 32); }

void* dynamic_shared_memory() { return machine().shared.data(); }

namespace {

cudaError_t run_now(dim3 grid, dim3 block, const std::function<void()>& body) {
    if (cudaError_t lost = begin_call(); lost != cudaSuccess) return lost;
    auto& m = machine();
    std::lock_guard lock(m.mutex);
    OpenMemory open;
    m.shared.fill(char(0xa5));
    m.threads.resize(size_t(block.x) * block.y * block.z);
    m.body = &body;
    block_size = block;
    grid_size = grid;
    return run_grid() ? cudaSuccess : lose_device(cudaErrorLaunchTimeout);
}

}  // namespace

cudaError_t launch(void* stream, dim3 grid, dim3 block, size_t shared, const std::function<void()>& body) {
    size_t threads = size_t(block.x) * block.y * block.z;
    if (threads == 0 || threads > most_threads || shared > most_shared || grid.x == 0 || grid.y == 0 ||
        grid.z == 0 || grid.y > 65535 || grid.z > 65535)
        return cudaErrorInvalidValue;
    if (static_cast<cudaStream_t>(stream)->device != device_of_thread())
        return cudaErrorInvalidResourceHandle;
    return enqueue(static_cast<cudaStream_t>(stream), [=] { return run_now(grid, block, body); });
}

}  // namespace mge::cuda::emulated
