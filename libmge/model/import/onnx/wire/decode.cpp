// SPDX-License-Identifier: Apache-2.0

#include "libmge/base/error.h"
#include "libmge/base/number_text.h"
#include "libmge/model/import/onnx/wire/record.h"

namespace mge::onnx {
namespace {

// Memory limit of reading a file: graphs are compact in files, and each node becomes an operator with names,
// shapes and lists, in this run and in the other traced ones.
constexpr size_t largest_growth = 10;

template <class... Args>
[[noreturn]] void fail(const std::string& label, const Args&... what) {
    throw ModelError(text("'", label, "' is not a valid ONNX model: ", what...));
}

void append(std::string& to, Bytes bytes) {
    to.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void parse(google::protobuf::MessageLite& message, const std::string& bytes, const std::string& label) {
    if (!message.ParseFromString(bytes)) fail(label, "a protobuf message cannot be parsed");
}

Initializer decode_initializer(Bytes bytes, const std::string& label) {
    Initializer result;
    std::string rest;
    WireReader reader(bytes);
    for (WireField field; reader.next(field);) {
        if (field.number == raw_data_field && field.type == length_delimited) {
            result.raw = field.content;
            // Its presence, even without a byte, is a part of the message.
            result.tensor.set_raw_data("");
        } else {
            append(rest, field.whole);
        }
    }
    if (!result.tensor.MergeFromString(rest)) fail(label, "a weight cannot be parsed");
    return result;
}

// The graph without its nodes and weights, and without unused annotations of values.
std::string rest_of_graph(Bytes graph) {
    std::string rest;
    WireReader reader(graph);
    for (WireField field; reader.next(field);) {
        bool is_kept_apart = field.type == length_delimited &&
                             (field.number == node_field || field.number == initializer_field);
        if (!is_kept_apart && field.number != value_info_field) append(rest, field.whole);
    }
    return rest;
}

void each_field(Bytes graph, uint32_t number, const std::function<void(Bytes)>& function) {
    WireReader reader(graph);
    for (WireField field; reader.next(field);)
        if (field.number == number && field.type == length_delimited) function(field.content);
}

}  // namespace

void ModelRecord::each_node(const std::function<void(const file::NodeProto&)>& function) const {
    each_field(graph, node_field, [&](Bytes bytes) {
        file::NodeProto node;
        bool is_parsed = bytes.size() <= size_t(std::numeric_limits<int>::max()) &&
                         node.ParseFromArray(bytes.data(), int(bytes.size()));
        if (!is_parsed) fail(label, "a node cannot be parsed");
        function(node);
    });
}

void ModelRecord::each_initializer(const std::function<void(const Initializer&)>& function) const {
    each_field(graph, initializer_field, [&](Bytes bytes) { function(decode_initializer(bytes, label)); });
}

ModelRecord decode(Bytes bytes, const std::string& label, size_t growth_slack) {
    WireCost cost = cost_of_model(bytes);
    if (!cost.is_well_formed)
        fail(label, "it is truncated, has a field of an unknown type or is nested too deeply");
    ModelRecord record{
        {}, {}, label, {}, largest_growth * bytes.size() + growth_slack, cost.kept + cost.largest};
    if (record.cost > record.limit)
        fail(label, "its ", counted(bytes.size(), "byte"), " would need about ", record.cost,
             " bytes of memory, more than the ", record.limit, " that are allowed");
    std::string rest;
    int graphs = 0;
    WireReader reader(bytes);
    for (WireField field; reader.next(field);) {
        if (field.number == graph_field && field.type == length_delimited) {
            ++graphs;
            record.graph = field.content;
        } else {
            append(rest, field.whole);
        }
    }
    if (graphs != 1) fail(label, "it has ", graphs, " graphs, expected one");
    parse(record.model, rest, label);
    parse(*record.model.mutable_graph(), rest_of_graph(record.graph), label);
    record.path = label;
    return record;
}

}  // namespace mge::onnx
