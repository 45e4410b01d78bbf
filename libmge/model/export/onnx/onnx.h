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

// Of the metadata of files whose batch is open: what the graph was recorded with.
inline constexpr const char* onnx_batch_key = "mge.batch";

struct OnnxOptions {
    int opset = default_onnx_opset;
    // Weights go to a file of their own beside the model, "NAME.data", when they have more bytes than this
    // together: readers take no model above 2 GiB.
    size_t most_inner_bytes = size_t(1) << 31;
};

// Writes the files whole or not at all. Test cases are left out: ONNX has none. Where the graph works for
// other batches, the first extent of inputs and outputs is called "batch". ModelError that names every
// operator with its node that cannot be said in ONNX; UserError when the operator set is out of range or the
// path cannot be written.
MGE_API void write_onnx(const std::string& path, const Model& model, const OnnxOptions& options = {});
// The same as one file in memory. UserError when that is too much for one.
MGE_API std::string onnx_bytes(const Model& model, const OnnxOptions& options = {});

// Our operators and the nodes that they become, sorted, for documentation: {"silu", "Sigmoid, Mul"}.
MGE_API std::vector<std::pair<std::string, std::string>> onnx_counterparts();

}  // namespace mge
