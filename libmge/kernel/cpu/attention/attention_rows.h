// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention of few queries, as in a language model that generates word by word: each reads all keys and
// values once, in place.

#include <cstdint>

#include "libmge/kernel/cpu/attention/attention_blocks.h"

namespace mge::cpu {

// Items are queries of all heads; `packed` is not used.
using AttendRows = void (*)(const AttentionShape&, const AttentionData&, int64_t first, int64_t last,
                            float* scratch);
AttendRows attend_rows();  // for the best instruction set

inline int64_t attend_rows_items(const AttentionShape& s) { return s.batch * s.heads * s.queries; }
int64_t attend_rows_scratch(const AttentionShape& shape);  // floats, of each thread

}  // namespace mge::cpu
