// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/files/mapped_range.h"

#include <signal.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <memory>

#include "libmge/base/files/pages.h"

namespace mge {
namespace {

std::atomic<MappedRange*> ranges{nullptr};
std::atomic<int> cuts{0};
struct sigaction handler_before;

MappedRange* find_range(const void* address) {
    auto* at = static_cast<const std::byte*>(address);
    for (auto* range = ranges.load(); range; range = range->next) {
        const std::byte *begin = range->begin, *end = range->end;
        // A range that is being used again has a new end before it has a new beginning.
        if (begin && begin <= at && at < end && range->begin == begin) return range;
    }
    return nullptr;
}

// All behind the page is lost, too: files are cut at their end.
bool map_zeros_at(MappedRange& range, const void* address) {
    auto page = reinterpret_cast<uintptr_t>(address) / page_size() * page_size();
    auto end = reinterpret_cast<uintptr_t>(range.end.load());
    if (!range.is_cut.exchange(true)) ++cuts;  // before any thread can read a zero
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
    int saved = errno;
    bool is_done = ::mmap(reinterpret_cast<void*>(page), end - page, PROT_READ, flags, -1, 0) != MAP_FAILED;
    errno = saved;
    return is_done;
}

void call_handler_before(int signal, siginfo_t* info, void* context) {
    if (handler_before.sa_flags & SA_SIGINFO) return handler_before.sa_sigaction(signal, info, context);
    if (handler_before.sa_handler != SIG_DFL && handler_before.sa_handler != SIG_IGN)
        return handler_before.sa_handler(signal);
    // The access is repeated, or the signal is raised, and ends the process.
    struct sigaction ends {};
    ends.sa_handler = SIG_DFL;
    ::sigaction(signal, &ends, nullptr);
    if (info->si_code <= 0) ::raise(signal);  // from kill()
}

void handle_bus_error(int signal, siginfo_t* info, void* context) {
    if (info->si_code == BUS_ADRERR)
        if (auto* range = find_range(info->si_addr); range && map_zeros_at(*range, info->si_addr)) return;
    call_handler_before(signal, info, context);
}

void install_handler() {
    static const bool is_installed = [] {
        page_size();  // initialised here, because the handler must not be the first to call it
        struct sigaction ours {};
        ours.sa_sigaction = handle_bus_error;
        ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
        return ::sigaction(SIGBUS, nullptr, &handler_before) == 0 && ::sigaction(SIGBUS, &ours, nullptr) == 0;
    }();
    (void)is_installed;
}

// An unused range, or a new one. Its start is set last.
MappedRange& take_range() {
    auto* taken = reinterpret_cast<const std::byte*>(UINTPTR_MAX);
    for (auto* range = ranges.load(); range; range = range->next) {
        const std::byte* unused = nullptr;
        if (range->begin.compare_exchange_strong(unused, taken)) return *range;
    }
    auto* range = std::make_unique<MappedRange>().release();
    range->begin = taken;
    range->next = ranges;
    while (!ranges.compare_exchange_weak(range->next, range)) continue;
    return *range;
}

}  // namespace

MappedRange& add_mapped_range(const std::byte* begin, size_t bytes, const MappedFile* file) {
    install_handler();
    MappedRange& range = take_range();
    range.is_cut = false;
    range.file = file;
    range.end = begin + bytes;
    range.begin = begin;
    return range;
}

void remove_mapped_range(MappedRange& range) {
    range.end = nullptr;
    range.begin = nullptr;
}

const MappedRange* mapped_range_of(const void* address) { return find_range(address); }

int cut_ranges() { return cuts; }

}  // namespace mge
