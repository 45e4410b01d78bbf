// SPDX-License-Identifier: Apache-2.0
#pragma once
// What will stand in an ONNX file, as plain data: the translation fills it in, encode.cpp writes it.

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

// The domain of a type stands in front of it, if it is not that of the standard.
struct NodeRecord {
    std::string type, name;
    Operands inputs, outputs;
    Attributes attributes;
};

// An extent of an input or output: a number, or the name of one that may change; neither: nobody can tell.
struct Extent {
    int64_t number = -1;
    std::string name;
};
struct ValueRecord {
    std::string name;
    DType dtype = DType::none;
    bool has_shape = true;
    std::vector<Extent> extents;
};

struct GraphRecord {
    std::string name;
    std::vector<ValueRecord> inputs, outputs;
    std::vector<NodeRecord> nodes;
    std::vector<std::pair<std::string, Tensor>> initialisers;
};

struct ModelRecord {
    int opset = 0;
    int64_t batch = 0;  // that the graph was recorded with; 0: its extents are numbers
    GraphRecord graph;
    std::map<std::string, std::string> metadata;
};

// ONNX's number of an element type.
int type_number(DType dtype);

}  // namespace mge::to_onnx
