// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/node_order.h"

namespace mge::onnx {
namespace {

using NameSet = std::set<std::string>;

void collect_reads(const file::GraphProto& graph, NameSet& reads);

// Names that the node reads, with those of outer graphs that its inner graphs read.
void collect_reads(const file::NodeProto& node, NameSet& reads) {
    for (auto& name : node.input())
        if (!name.empty()) reads.insert(name);
    for (auto& attribute : node.attribute())
        if (attribute.has_g()) collect_reads(attribute.g(), reads);
}

void collect_reads(const file::GraphProto& graph, NameSet& reads) {
    NameSet own;
    for (auto& node : graph.node()) collect_reads(node, own);
    for (auto& output : graph.output()) own.insert(output.name());
    for (auto& node : graph.node())
        for (auto& name : node.output()) own.erase(name);
    for (auto& input : graph.input()) own.erase(input.name());
    for (auto& weight : graph.initializer()) own.erase(weight.name());
    for (auto& weight : graph.sparse_initializer()) own.erase(weight.values().name());
    reads.merge(own);
}

}  // namespace

void NodeOrder::add(const file::NodeProto& node) {
    NameSet missing;
    collect_reads(node, missing);
    std::erase_if(missing, is_defined_);
    if (missing.empty()) return import_with_readers(node);
    keep_(node);
    for (auto& name : missing) readers_.emplace(name, waiting_.size());
    waiting_.push_back({node, missing.size()});
}

void NodeOrder::import_with_readers(const file::NodeProto& node) {
    import_(node);
    std::vector<size_t> ready;
    auto wake = [&](const file::NodeProto& done) {
        for (auto& name : done.output()) {
            auto [begin, end] = readers_.equal_range(name);
            for (auto reader = begin; reader != end; ++reader)
                if (!--waiting_[reader->second].missing) ready.push_back(reader->second);
            readers_.erase(begin, end);
        }
    };
    wake(node);
    while (!ready.empty()) {
        const file::NodeProto next = std::move(waiting_[ready.back()].node);
        ready.pop_back();
        import_(next);
        wake(next);
    }
}

void NodeOrder::finish() {
    for (auto& [node, missing] : waiting_)
        if (missing) import_(node);
}

}  // namespace mge::onnx
