// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model as an ONNX file says it. The nodes and weights of its main graph are not in the message: each is
// parsed when it is asked for and forgotten behind it, since a few bytes become hundreds in memory.

#include <functional>
#include <string>

#include "libmge/model/import/onnx/wire/wire.h"
#include "libmge/tensor/tensor.h"
#include "onnx.pb.h"

namespace mge::onnx {

// The messages of the file's schema.
namespace file = ::onnx;

struct Initializer {
    file::TensorProto tensor;  // without raw_data
    Bytes raw;                 // that of the file
};

struct ModelRecord {
    file::ModelProto model;  // without nodes and initializers of the main graph
    Bytes graph;             // that, as it lies in the file
    const std::string& label;
    std::string path;  // of the model, beside which external data lies
    size_t limit;      // of what this file may become in memory, all in all
    size_t cost;       // of what is parsed of it, about

    // Those of the main graph one after the other. ModelError for one that cannot be parsed.
    void each_node(const std::function<void(const file::NodeProto&)>& function) const;
    void each_initializer(const std::function<void(const Initializer&)>& function) const;
};

inline constexpr int newest_ir = 14, oldest_opset = 6, newest_opset = 28;

// Checks the wire format and its cost, then parses. ModelError names the file and what is wrong with it. The
// record lives no longer than the bytes and the label.
ModelRecord decode(Bytes bytes, const std::string& label, size_t growth_slack);

}  // namespace mge::onnx
