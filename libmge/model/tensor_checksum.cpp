// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/tensor_checksum.h"

#include <algorithm>
#include <vector>

#include "libmge/base/hash.h"
#include "libmge/base/threads.h"
#include "libmge/kernel/cpu/parallel.h"

namespace mge {

uint64_t tensor_checksum(const void* data, size_t bytes) {
    if (bytes <= checksum_chunk) return checksum(data, bytes);
    std::vector<uint64_t> chunks((bytes + checksum_chunk - 1) / checksum_chunk);
    constexpr int64_t chunks_worth_a_thread = 2;
    par_for(default_threads(), int64_t(chunks.size()), chunks_worth_a_thread,
            [&](int64_t begin, int64_t end) {
                for (auto i = size_t(begin); i < size_t(end); ++i)
                    chunks[i] = checksum(static_cast<const char*>(data) + i * checksum_chunk,
                                         std::min(checksum_chunk, bytes - i * checksum_chunk));
            });
    return checksum(chunks.data(), chunks.size() * sizeof chunks[0]);
}

}  // namespace mge
