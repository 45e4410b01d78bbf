// SPDX-License-Identifier: Apache-2.0
#pragma once
// Models as ONNX files, for every program that reads those.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libmge/model/model.h"

namespace mge {

inline constexpr int least_onnx_opset = 11, largest_onnx_opset = 28, default_onnx_opset = 17;

// Metadata key of files with an open batch size: the recorded batch size.
inline constexpr const char* onnx_batch_key = "mge.batch";

struct OnnxOptions {
    int opset = default_onnx_opset;
    // Weights go to a file of their own beside the model, "NAME.data", when they have more bytes than this
    // together: readers take no model above 2 GiB.
    size_t most_inner_bytes = size_t(1) << 31;
};

// Writes the files completely or not at all: after a failure the path names the old model with its weights,
// or the new one, whose weights may then be in "NAME.data.1" instead of "NAME.data". Test cases are omitted,
// because ONNX has none. Named dimensions stay open if the graph supports other sizes of them. Without names,
// if the graph supports other batch sizes, the first dimension of inputs and outputs is named "batch".
// ModelError that names every operator without a counterpart in ONNX, with its node; UserError if the
// operator set is out of range or the path is not writable.
MGE_API void write_onnx(const std::string& path, const Model& model, const OnnxOptions& options = {});
// The same as one file in memory. UserError when that is too much for one.
MGE_API std::string onnx_bytes(const Model& model, const OnnxOptions& options = {});

// Our operators and the nodes that they become, sorted, for documentation: {"silu", "Sigmoid, Mul"}.
MGE_API std::vector<std::pair<std::string, std::string>> onnx_counterparts();

}  // namespace mge
