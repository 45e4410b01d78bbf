// SPDX-License-Identifier: Apache-2.0
#pragma once
// The content of an ONNX file as plain data: the translation fills it in, encode.cpp writes it.

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "libmge/base/reflect.h"
#include "libmge/tensor/tensor.h"

namespace mge::to_onnx {

// A value by its name; empty: an optional one that is absent.
using Operand = std::string;
using Operands = std::vector<Operand>;

struct GraphRecord;
using AttributeValue = std::variant<int64_t, double, std::string, IntList, FloatList,
                                    std::vector<std::string>, Tensor, std::shared_ptr<GraphRecord>>;
struct Attribute {
    std::string name;
    AttributeValue value;
};
using Attributes = std::vector<Attribute>;

// The domain is a prefix of the type, unless it is the standard one.
struct NodeRecord {
    std::string type, name;
    Operands inputs, outputs;
    Attributes attributes;
};

// A dimension of an input or output: a number, or the name of a variable one; neither if unknown.
struct ExtentRecord {
    int64_t number = -1;
    std::string name;
};
struct ValueRecord {
    std::string name;
    DType dtype = DType::none;
    bool has_shape = true;
    std::vector<ExtentRecord> extents;
};

struct GraphRecord {
    std::string name;
    std::vector<ValueRecord> inputs, outputs;
    std::vector<NodeRecord> nodes;
    std::vector<std::pair<std::string, Tensor>> initialisers;
};

struct ModelRecord {
    int opset = 0;
    int64_t batch = 0;  // the recorded batch size; 0: the shapes are fixed
    GraphRecord graph;
    std::map<std::string, std::string> metadata;
};

// ONNX's number of an element type; 0 for one that is not written.
int type_number(DType dtype);

}  // namespace mge::to_onnx
