// SPDX-License-Identifier: Apache-2.0
#include "tests/out_of_memory/failing_allocations.h"

#include <link.h>
#include <unwind.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string_view>

// glibc's internal names; the plain names below replace them.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace mge::test {
namespace {

std::atomic<long> numbered{0}, failing{0}, live{0};
std::atomic<bool> is_numbering{false}, has_failed{false};
thread_local bool is_inside = false;  // unwinding may itself allocate

enum class Origin { ours, standard_library, other };

int origin_in_object(dl_phdr_info* info, size_t, void* data) {
    auto& [address, origin] = *static_cast<std::pair<uintptr_t, Origin>*>(data);
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        auto& header = info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + header.p_vaddr;
        if (header.p_type != PT_LOAD || address < begin || address >= begin + header.p_memsz) continue;
        std::string_view path = info->dlpi_name;  // empty: the program, which holds the library
        if (path.empty()) origin = Origin::ours;
        if (path.find("libstdc++") != path.npos) origin = Origin::standard_library;
        return 1;
    }
    return 0;
}

Origin origin_of(uintptr_t address) {
    std::pair<uintptr_t, Origin> found{address, Origin::other};
    ::dl_iterate_phdr(origin_in_object, &found);
    return found.second;
}

struct Walk {
    int own_frames;  // number of innermost frames in this file
    bool sees_through_standard_library;
    Origin origin = Origin::other;
};

_Unwind_Reason_Code visit_frame(_Unwind_Context* context, void* data) {
    auto& walk = *static_cast<Walk*>(data);
    if (walk.own_frames-- > 0) return _URC_NO_REASON;
    walk.origin = origin_of(_Unwind_GetIP(context));
    if (walk.origin == Origin::standard_library && walk.sees_through_standard_library) return _URC_NO_REASON;
    return _URC_END_OF_STACK;
}

// Out of line, so that exactly two frames (this one and the replaced function) belong to this file.
[[gnu::noinline]] bool must_fail(bool is_new) {
    if (!is_numbering.load(std::memory_order_relaxed) || is_inside) return false;
    if (numbered.fetch_add(1, std::memory_order_relaxed) + 1 != failing.load(std::memory_order_relaxed))
        return false;
    is_inside = true;
    Walk walk{2, is_new};
    _Unwind_Backtrace(&visit_frame, &walk);
    is_inside = false;
    if (walk.origin != Origin::ours) return false;
    has_failed = true;
    return true;
}

}  // namespace

void fail_allocation(long n) {
    // The unwinder's first use allocates: have it behind us.
    Walk warm_up{0, false};
    _Unwind_Backtrace(&visit_frame, &warm_up);
    numbered = 0;
    has_failed = false;
    failing = n;
    is_numbering = true;
}

Allocations stop_failing() {
    is_numbering = false;
    return {numbered, has_failed};
}

long live_objects() { return live; }

}  // namespace mge::test

using mge::test::live;
using mge::test::must_fail;

// The other forms of new call one of these.
void* operator new(size_t size) {
    if (must_fail(true)) throw std::bad_alloc();
    void* block = __libc_malloc(size ? size : 1);
    if (!block) throw std::bad_alloc();
    live.fetch_add(1, std::memory_order_relaxed);
    return block;
}

void* operator new(size_t size, std::align_val_t alignment) {
    if (must_fail(true)) throw std::bad_alloc();
    void* block = __libc_memalign(size_t(alignment), size ? size : 1);
    if (!block) throw std::bad_alloc();
    live.fetch_add(1, std::memory_order_relaxed);
    return block;
}

void operator delete(void* block) noexcept {
    if (block) live.fetch_sub(1, std::memory_order_relaxed);
    std::free(block);
}
void operator delete(void* block, size_t) noexcept { operator delete(block); }
void operator delete(void* block, std::align_val_t) noexcept { operator delete(block); }
void operator delete(void* block, size_t, std::align_val_t) noexcept { operator delete(block); }

extern "C" {

void* malloc(size_t size) { return must_fail(false) ? nullptr : __libc_malloc(size); }
void* calloc(size_t n, size_t size) { return must_fail(false) ? nullptr : __libc_calloc(n, size); }
void* realloc(void* block, size_t size) { return must_fail(false) ? nullptr : __libc_realloc(block, size); }
void* memalign(size_t alignment, size_t size) {
    return must_fail(false) ? nullptr : __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
    return must_fail(false) ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** block, size_t alignment, size_t size) {
    *block = must_fail(false) ? nullptr : __libc_memalign(alignment, size);
    return *block ? 0 : ENOMEM;
}
}
