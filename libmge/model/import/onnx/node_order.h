// SPDX-License-Identifier: Apache-2.0
#pragma once
// The nodes of a graph in an order in which each reads only values of nodes before it. The specification
// demands that of files, but converters to float16 append the casts of inputs, and ONNX Runtime sorts.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "libmge/model/import/onnx/wire/record.h"

namespace mge::onnx {

class NodeOrder {
public:
    using IsDefined = std::function<bool(const std::string&)>;
    using Function = std::function<void(const file::NodeProto&)>;
    // `import` defines the outputs of a node; `keep` is called for nodes that have to wait.
    NodeOrder(IsDefined is_defined, Function import, Function keep)
        : is_defined_(std::move(is_defined)), import_(std::move(import)), keep_(std::move(keep)) {}

    // Imports the node and those that waited for it, or keeps it until its last input is defined.
    void add(const file::NodeProto& node);
    // Imports the rest, whose inputs no node defines.
    void finish();

private:
    struct Waiting {
        file::NodeProto node;
        size_t missing;  // number of names; 0: it was imported
    };
    void import_with_readers(const file::NodeProto& node);

    IsDefined is_defined_;
    Function import_, keep_;
    std::vector<Waiting> waiting_;
    std::multimap<std::string, size_t> readers_;  // waiting nodes by missing name
};

}  // namespace mge::onnx
