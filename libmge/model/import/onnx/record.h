// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model as an ONNX file says it. The weights of its main graph are not in the message: they are told apart
// before it is parsed, and their bytes stay where they lie.

#include <memory>
#include <string>
#include <vector>

#include "libmge/model/import/onnx/wire.h"
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
    file::ModelProto model;  // without the initializers of the main graph
    std::vector<Initializer> initializers;
    std::string folder;  // of external data; empty: the model lies in no folder
};

inline constexpr int newest_ir = 14, oldest_opset = 6, newest_opset = 28;

// Checks the wire format and its cost, then parses. ModelError names the file and what is wrong with it.
ModelRecord decode(Bytes bytes, const std::string& label);

}  // namespace mge::onnx
