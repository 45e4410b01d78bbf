// SPDX-License-Identifier: Apache-2.0
#include "steady_state/call_counter.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <unwind.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>

// glibc's internal names; the plain names below replace them.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace mge::steady_state {
namespace {

enum Origin { from_mge, from_onednn, from_openmp, from_other, origin_count };

struct CodeRange {
    uintptr_t begin, end;
    Origin origin;
};

constexpr int max_ranges = 8;
constexpr int max_frames = 24;

CodeRange ranges[max_ranges];
int range_count = 0;
std::atomic<bool> counting{false};
std::atomic<long> allocation_counts[origin_count], mutex_counts[origin_count];
thread_local bool inside = false;  // unwinding may itself allocate and lock

Origin origin_of_object(std::string_view path) {
    if (path.empty() || path.find("libmge") != path.npos) return from_mge;  // empty: the test program
    if (path.find("libdnnl") != path.npos) return from_onednn;
    if (path.find("libgomp") != path.npos) return from_openmp;
    return from_other;
}

int note_ranges(dl_phdr_info* info, size_t, void*) {
    Origin origin = origin_of_object(info->dlpi_name ? info->dlpi_name : "");
    if (origin == from_other) return 0;
    for (int i = 0; i < info->dlpi_phnum && range_count < max_ranges; ++i) {
        const auto& header = info->dlpi_phdr[i];
        if (header.p_type != PT_LOAD || !(header.p_flags & PF_X)) continue;
        uintptr_t begin = info->dlpi_addr + header.p_vaddr;
        ranges[range_count++] = {begin, begin + header.p_memsz, origin};
    }
    return 0;
}

struct Walk {
    Origin origin = from_other;
    int frames = 0;
    int own_frames;  // frames of this file, innermost
};

_Unwind_Reason_Code visit_frame(_Unwind_Context* context, void* data) {
    auto& walk = *static_cast<Walk*>(data);
    if (++walk.frames > max_frames) return _URC_END_OF_STACK;
    if (walk.frames <= walk.own_frames) return _URC_NO_REASON;
    uintptr_t address = _Unwind_GetIP(context);
    for (int i = 0; i < range_count; ++i) {
        if (address >= ranges[i].begin && address < ranges[i].end) {
            walk.origin = ranges[i].origin;
            return _URC_END_OF_STACK;
        }
    }
    return _URC_NO_REASON;
}

// Out of line, so that exactly two frames (this one and the replaced function) belong to this file.
[[gnu::noinline]] void count(std::atomic<long>* counts) {
    if (!counting.load(std::memory_order_relaxed) || inside) return;
    inside = true;
    Walk walk{.own_frames = 2};
    _Unwind_Backtrace(&visit_frame, &walk);
    counts[walk.origin].fetch_add(1, std::memory_order_relaxed);
    inside = false;
}

CallCounts take(std::atomic<long>* counts) {
    CallCounts taken{counts[from_mge], counts[from_onednn], counts[from_openmp], counts[from_other]};
    for (int i = 0; i < origin_count; ++i) counts[i] = 0;
    return taken;
}

using LockFunction = int (*)(pthread_mutex_t*);
LockFunction real_mutex_lock() {
    static std::atomic<LockFunction> found{nullptr};
    LockFunction function = found.load(std::memory_order_relaxed);
    if (!function) {
        function = reinterpret_cast<LockFunction>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
        found.store(function, std::memory_order_relaxed);
    }
    return function;
}

}  // namespace

void start_counting() {
    range_count = 0;
    dl_iterate_phdr(&note_ranges, nullptr);
    // The unwinder's first use allocates: have it behind us.
    Walk warm_up{.own_frames = 0};
    _Unwind_Backtrace(&visit_frame, &warm_up);
    take(allocation_counts);
    take(mutex_counts);
    counting = true;
}

Counts stop_counting() {
    counting = false;
    return {take(allocation_counts), take(mutex_counts)};
}

}  // namespace mge::steady_state

using mge::steady_state::allocation_counts;
using mge::steady_state::count;
using mge::steady_state::mutex_counts;

extern "C" {

void* malloc(size_t size) {
    count(allocation_counts);
    return __libc_malloc(size);
}

void* calloc(size_t n, size_t size) {
    count(allocation_counts);
    return __libc_calloc(n, size);
}

void* realloc(void* block, size_t size) {
    count(allocation_counts);
    return __libc_realloc(block, size);
}

void* memalign(size_t alignment, size_t size) {
    count(allocation_counts);
    return __libc_memalign(alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
    count(allocation_counts);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void** block, size_t alignment, size_t size) {
    count(allocation_counts);
    *block = __libc_memalign(alignment, size);
    return *block ? 0 : ENOMEM;
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
    count(mutex_counts);
    return mge::steady_state::real_mutex_lock()(mutex);
}
}
