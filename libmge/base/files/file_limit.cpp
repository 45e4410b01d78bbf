// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/files/file_limit.h"

#include <algorithm>
#include <atomic>

#include "libmge/base/byte_count.h"
#include "libmge/base/env.h"
#include "libmge/base/error.h"

namespace mge {
namespace {

constexpr const char* variable = "MGE_FILE_LIMIT";
constexpr uint64_t default_limit = uint64_t(1) << 30;

std::atomic<uint64_t> limit_set{0};  // 0: not set

}  // namespace

uint64_t file_limit() {
    if (uint64_t set = limit_set.load(std::memory_order_relaxed)) return set;
    auto given = env_string(variable);
    if (!given) return default_limit;
    auto bytes = byte_count(*given);
    if (!bytes || *bytes == 0)
        throw_value_error(variable, "'", *given,
                          "' is not a size: expected bytes such as 65536, 64K or 1.5GiB");
    return *bytes;
}

void set_file_limit(uint64_t bytes) { limit_set = std::max<uint64_t>(bytes, 1); }

FileBudget::FileBudget(const std::string& label, uint64_t file_bytes)
    : label_(label), allowed_(std::max(file_limit(), file_bytes)), left_(allowed_) {}

void FileBudget::take(uint64_t count, uint64_t bytes_each) {
    uint64_t bytes = 0;
    take(__builtin_mul_overflow(count, bytes_each, &bytes) ? UINT64_MAX : bytes);
}

void FileBudget::refuse(uint64_t bytes) const {
    uint64_t used = allowed_ - left_, wanted = bytes > UINT64_MAX - used ? UINT64_MAX : used + bytes;
    throw ModelError(text("'", label_, "' requests ", byte_count_text(wanted),
                          " of memory; a file of its size may take ", byte_count_text(allowed_),
                          "; --file-limit (", variable, ") raises that"));
}

}  // namespace mge
