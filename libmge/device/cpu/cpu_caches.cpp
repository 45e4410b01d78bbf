// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/cpu/cpu_caches.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdint>
#include <fstream>

namespace mge {
namespace {

constexpr int most_caches = 16;

std::string word_in(const std::string& path) {
    std::ifstream file(path);
    std::string word;
    file >> word;
    return word;
}

// "48K", "2048K", "1M".
size_t parse_size(const std::string& word) {
    size_t size = 0, digits = 0;
    for (; digits < word.size() && digits < 12 && std::isdigit(uint8_t(word[digits])); ++digits)
        size = size * 10 + size_t(word[digits] - '0');
    std::string unit = word.substr(digits);
    return unit == "K" ? size << 10 : unit == "M" ? size << 20 : unit.empty() ? size : 0;
}

// "00000000,00000003": a bit for each CPU.
int count_cpus(const std::string& map) {
    int cpus = 0;
    for (char c : map)
        if (std::isxdigit(uint8_t(c)))
            cpus += std::popcount(unsigned(std::isdigit(uint8_t(c)) ? c - '0' : std::tolower(c) - 'a' + 10));
    return std::max(1, cpus);
}

}  // namespace

std::vector<CpuCache> cpu_caches(const std::string& folder) {
    std::vector<CpuCache> caches;
    for (int i = 0; i < most_caches; ++i) {
        std::string path = folder + "/index" + std::to_string(i) + '/', type = word_in(path + "type");
        if (type != "Data" && type != "Unified") continue;
        CpuCache cache{int(parse_size(word_in(path + "level"))), parse_size(word_in(path + "size")),
                       count_cpus(word_in(path + "shared_cpu_map"))};
        if (cache.level > 0 && cache.bytes > 0) caches.push_back(cache);
    }
    std::ranges::stable_sort(caches, {}, &CpuCache::level);
    return caches;
}

}  // namespace mge
