// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/operators/loop_appends.h"

#include <algorithm>
#include <map>

#include "libmge/model/import/onnx/operators.h"

namespace mge::onnx {
namespace {

using Counts = std::map<std::string, int, std::less<>>;

// Nested copies of bodies are not made.
bool holds_loops(const file::GraphProto& graph) {
    return std::ranges::any_of(graph.node(), [](const file::NodeProto& node) {
        if (node.op_type() == "Loop" || node.op_type() == "Scan") return true;
        return std::ranges::any_of(node.attribute(), [](auto& attribute) {
            return attribute.has_g() && holds_loops(attribute.g());
        });
    });
}

// Number of reads of each name.
void count_reads(const file::GraphProto& graph, Counts& reads) {
    for (auto& node : graph.node()) {
        for (auto& name : node.input()) ++reads[name];
        for (auto& attribute : node.attribute())
            if (attribute.has_g()) count_reads(attribute.g(), reads);
    }
    for (auto& output : graph.output()) ++reads[output.name()];
}

// A part behind the first operand, along the first axis; or a value behind those of a sequence.
bool is_append(const file::NodeProto& node) {
    if (!is_standard(node.domain()) || node.input_size() != 2 || node.output_size() != 1) return false;
    if (node.op_type() == "SequenceInsert") return true;
    return node.op_type() == "Concat" && node.attribute_size() == 1 && node.attribute(0).name() == "axis" &&
           node.attribute(0).i() == 0;
}

// Elements of a list of a message, but for those at these places.
template <class List>
void erase_at(List& list, const std::set<int>& places) {
    int kept = 0;
    for (int i = 0; i < list.size(); ++i)
        if (!places.contains(i)) list.SwapElements(kept++, i);
    list.DeleteSubrange(kept, list.size() - kept);
}

}  // namespace

std::optional<AppendingBody> find_appends(const file::GraphProto& body, size_t carried) {
    if (size_t(body.input_size()) != carried + 2 || size_t(body.output_size()) < carried + 1)
        return std::nullopt;
    Counts reads;
    count_reads(body, reads);
    auto is_read_once = [&](const std::string& name) { return reads.find(name)->second == 1; };
    std::map<std::string_view, int> makers;
    for (int n = 0; n < body.node_size(); ++n)
        for (auto& output : body.node(n).output()) makers.emplace(output, n);
    // The origin of a value without other readers. One Cast is allowed in between: carried values have one
    // dtype.
    auto origin = [&](const std::string& name, std::set<int>& passed) -> const std::string& {
        auto maker = makers.find(name);
        if (maker == makers.end() || !is_read_once(name)) return name;
        auto& node = body.node(maker->second);
        bool is_copy = node.op_type() == "Cast" || node.op_type() == "Identity";
        if (!is_copy || node.input_size() != 1) return name;
        passed.insert(maker->second);
        return node.input(0);
    };
    AppendingBody found;
    std::set<int> nodes, inputs, outputs;
    std::vector<std::string> parts;
    for (size_t i = 0; i < carried; ++i) {
        auto &before = body.input(int(i) + 2).name(), &after = body.output(int(i) + 1).name();
        auto maker = makers.find(after);
        if (maker == makers.end() || !is_append(body.node(maker->second))) continue;
        auto& node = body.node(maker->second);
        std::set<int> passed{maker->second};
        if (origin(node.input(0), passed) != before || !is_read_once(before) || !is_read_once(after))
            continue;
        found.appends.insert(i);
        nodes.merge(passed);
        inputs.insert(int(i) + 2);
        outputs.insert(int(i) + 1);
        parts.push_back(node.input(1));
    }
    if (found.appends.empty() || holds_loops(body)) return std::nullopt;
    found.collecting = body;
    erase_at(*found.collecting.mutable_node(), nodes);
    erase_at(*found.collecting.mutable_input(), inputs);
    erase_at(*found.collecting.mutable_output(), outputs);
    for (auto& part : parts) found.collecting.add_output()->set_name(part);
    return found;
}

}  // namespace mge::onnx
