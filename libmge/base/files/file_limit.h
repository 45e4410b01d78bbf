// SPDX-License-Identifier: Apache-2.0
#pragma once
// A small file may request much memory: a compressed array, the header of an image, text that becomes
// objects, names shared by many nodes. Readers of files check here before they allocate memory for them.

#include <cstdint>
#include <string>

#include "libmge/base/api.h"

namespace mge {

// The memory in bytes that one file may request: 1 GiB, or the value of MGE_FILE_LIMIT ("4GiB"), or the value
// set. A request of the file's own size is always allowed.
MGE_API uint64_t file_limit();
MGE_API void set_file_limit(uint64_t bytes);

// The requests of one file so far.
class MGE_API FileBudget {
public:
    // `label` names the file in errors; it must live as long as the budget.
    FileBudget(const std::string& label, uint64_t file_bytes);
    // ModelError, naming the limit and how to raise it, when that is too much together with all before it.
    void take(uint64_t bytes) {
        if (bytes > left_) refuse(bytes);
        left_ -= bytes;
    }
    void take(uint64_t count, uint64_t bytes_each);

private:
    [[noreturn]] void refuse(uint64_t bytes) const;
    const std::string& label_;
    uint64_t allowed_, left_;
};

// Text that becomes objects: each byte of JSON or of a list of flags takes up to this many bytes of memory
// ("[[],[],…" and "0,0,…" with a nlohmann::json of 16 bytes, in a vector that grows).
inline constexpr uint64_t memory_per_byte_of_text = 32;

}  // namespace mge
