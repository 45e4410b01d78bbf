// SPDX-License-Identifier: Apache-2.0
#pragma once
// An ONNX model as in its file. The nodes and weights of its main graph are not in the message: each is
// parsed on access and freed afterwards, because a few bytes become hundreds in memory.

#include <functional>
#include <string>

#include "libmge/base/files/file.h"
#include "libmge/model/import/onnx/wire/wire.h"
#include "libmge/tensor/tensor.h"
#include "onnx.pb.h"

namespace mge::onnx {

// The messages of the file's schema.
namespace file = ::onnx;

struct Initializer {
    file::TensorProto tensor;  // without raw_data
    Bytes raw;                 // bytes of the file
};

struct ModelRecord {
    file::ModelProto model;  // without nodes and initializers of the main graph
    Bytes graph;             // the graph as stored in the file
    const std::string& label;
    std::string path;                          // path of the model, whose folder contains external data
    size_t limit;                              // limit of the total memory for this file
    size_t cost;                               // approximate memory of the parsed file
    FileAccess external = FileAccess::mapped;  // for external data

    // The nodes of the main graph one after the other. ModelError for one that cannot be parsed.
    void each_node(const std::function<void(const file::NodeProto&)>& function) const;
    void each_initializer(const std::function<void(const Initializer&)>& function) const;
};

inline constexpr int newest_ir = 14, oldest_opset = 6, newest_opset = 28;

// Checks the wire format and its cost, then parses. ModelError that names the file and its fault. The bytes
// and the label must outlive the record.
ModelRecord decode(Bytes bytes, const std::string& label, size_t growth_slack);

}  // namespace mge::onnx
