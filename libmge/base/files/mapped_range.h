// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes of files that this process has mapped. If another process truncates a file, its pages disappear, and
// reading them raises SIGBUS. From the first mapping on, a handler of that signal maps pages of zeros in
// their place and marks the range, so that the reader continues; users of mapped bytes check the mark
// afterwards. Signals for other addresses go to the previous handler.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mge {

class MappedFile;

// Ranges are looked up without locks, also by the signal handler. They are never freed, only used again.
struct MappedRange {
    std::atomic<const std::byte*> begin{nullptr}, end{nullptr};
    std::atomic<bool> is_cut{false};
    std::atomic<const MappedFile*> file{nullptr};
    MappedRange* next = nullptr;
};

MappedRange& add_mapped_range(const std::byte* begin, size_t bytes, const MappedFile* file);
// Before the bytes are unmapped.
void remove_mapped_range(MappedRange& range);
// Null: the address is in no mapped file.
const MappedRange* mapped_range_of(const void* address);
// Number of truncated ranges so far.
int cut_ranges();

}  // namespace mge
