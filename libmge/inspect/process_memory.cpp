// SPDX-License-Identifier: Apache-2.0
// The memory of this process as the system reports it.

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "libmge/base/files/pages.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/device/device.h"
#include "libmge/inspect/memory.h"

namespace mge {
namespace {

struct Descriptor {
    int fd;
    ~Descriptor() {
        if (fd >= 0) ::close(fd);
    }
};

// Parses one of the process's files, whose lines are names and kibibytes: "VmHWM:  12 kB". In bytes.
using Fields = std::map<std::string, size_t>;

Fields fields_of(const char* file) {
    std::ifstream stream(file);
    Fields fields;
    for (std::string line; std::getline(stream, line);) {
        std::istringstream words(line);
        std::string name;
        size_t kibibytes = 0;
        if (words >> name >> kibibytes) fields[name] = kibibytes * 1024;
    }
    return fields;
}

// A line of /proc/self/maps: "7f12c000-7f12d000 rwxp 00000000 00:00 0", behind it the file's path if there is
// one.
std::span<const std::byte> code_without_file(const std::string& line) {
    uintptr_t first = 0, end = 0;
    char may_execute = 0;
    int path = 0;
    constexpr const char* form = "%zx-%zx %*2c%c%*c %*s %*s %*s %n";
    if (std::sscanf(line.c_str(), form, &first, &end, &may_execute, &path) != 3) return {};
    if (may_execute != 'x' || size_t(path) < line.size()) return {};
    return {reinterpret_cast<const std::byte*>(first), end - first};
}

// Pages that are executable and of no file.
size_t generated_code() {
    std::ifstream mappings("/proc/self/maps");
    std::vector<std::span<const std::byte>> pieces;
    for (std::string line; std::getline(mappings, line);) pieces.push_back(code_without_file(line));
    return resident_bytes(std::move(pieces)).value_or(0);
}

#ifdef __GLIBC__
size_t allocated_bytes() {
    auto heap = ::mallinfo2();
    return heap.uordblks + heap.hblkhd;
}
void return_free_pages() { ::malloc_trim(0); }
#else
// Other C libraries do not say.
size_t allocated_bytes() { return 0; }
void return_free_pages() {}
#endif

}  // namespace

ProcessMemory process_memory() {
    Fields status = fields_of("/proc/self/status");
    ProcessMemory memory{status["RssAnon:"], status["RssFile:"] + status["RssShmem:"], status["VmHWM:"],
                         allocated_bytes(), generated_code()};
    // Some systems sum up the status from per-processor counters that are updated lazily: with many
    // processors they are off by megabytes. This file counts the pages themselves.
    Fields counted = fields_of("/proc/self/smaps_rollup");
    if (counted.contains("Rss:") && counted.contains("Anonymous:")) {
        memory.anonymous = std::min(counted["Rss:"], counted["Anonymous:"]);
        memory.file = counted["Rss:"] - memory.anonymous;
    }
    return memory;
}

ProcessMemory settled_process_memory() {
    device(host_device).release_cached();
    return_free_pages();
    return process_memory();
}

std::optional<size_t> resident_bytes(std::vector<std::span<const std::byte>> pieces) {
    // Unbuffered: the system returns only whole entries.
    Descriptor map{::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)};
    if (map.fd < 0) return std::nullopt;
    const uintptr_t page = page_size();
    constexpr uint64_t is_present = uint64_t(1) << 63;
    std::sort(pieces.begin(), pieces.end(), [](auto a, auto b) { return a.data() < b.data(); });
    uintptr_t seen = 0;  // pages before this one are counted
    size_t pages = 0;
    std::vector<uint64_t> entries;
    for (auto piece : pieces) {
        if (piece.empty()) continue;
        uintptr_t first = std::max(seen, reinterpret_cast<uintptr_t>(piece.data()) / page);
        uintptr_t end = ceil_div(reinterpret_cast<uintptr_t>(piece.data() + piece.size()), page);
        if (first >= end) continue;
        entries.resize(end - first);
        size_t bytes = entries.size() * sizeof(uint64_t);
        if (::pread(map.fd, entries.data(), bytes, off_t(first * sizeof(uint64_t))) != ssize_t(bytes))
            return std::nullopt;
        pages += size_t(std::ranges::count_if(entries, [](uint64_t e) { return (e & is_present) != 0; }));
        seen = end;
    }
    return pages * page;
}

}  // namespace mge
