// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of loops that append a part to a value which they carry, or a value to a sequence, in each step.

#include <optional>
#include <set>

#include "libmge/model/import/onnx/wire/record.h"

namespace mge::onnx {

struct AppendingBody {
    std::set<size_t> appends;     // carried values that only an append reads
    file::GraphProto collecting;  // without them: the parts are further slices
};
// Nullopt: it has no appends, or contains loops itself.
std::optional<AppendingBody> find_appends(const file::GraphProto& body, size_t carried);

}  // namespace mge::onnx
