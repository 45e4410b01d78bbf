// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "libmge/base/error.h"
#include "libmge/model/import/onnx/record.h"

namespace mge::onnx {
namespace {

constexpr uint32_t graph_field = 7, initializer_field = 5, raw_data_field = 9, value_info_field = 13;
// A parsed message may take this much more than the file: names are short, and each is a text of its own.
constexpr size_t largest_growth = 10, growth_slack = size_t(16) << 20;

template <class... Args>
[[noreturn]] void fail(const std::string& label, const Args&... what) {
    throw ModelError(text("'", label, "' is not a valid ONNX model: ", what...));
}

void append(std::string& to, Bytes bytes) {
    to.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void parse(google::protobuf::MessageLite& message, const std::string& bytes, const std::string& label) {
    if (!message.ParseFromString(bytes)) fail(label, "a message in it cannot be parsed");
}

Initializer decode_initializer(Bytes bytes, const std::string& label) {
    Initializer result;
    std::string rest;
    WireReader reader(bytes);
    for (WireField field; reader.next(field);) {
        if (field.number == raw_data_field && field.type == length_delimited) {
            result.raw = field.content;
            // That there is some, even without a byte, is a part of the message.
            result.tensor.set_raw_data("");
        } else {
            append(rest, field.whole);
        }
    }
    if (!result.tensor.MergeFromString(rest)) fail(label, "a weight in it cannot be parsed");
    return result;
}

// What is left of the graph without its weights, and without the notes on values that nothing here reads.
std::string graph_without_weights(Bytes graph, ModelRecord& record, const std::string& label) {
    std::string rest;
    WireReader reader(graph);
    for (WireField field; reader.next(field);) {
        if (field.number == initializer_field && field.type == length_delimited)
            record.initializers.push_back(decode_initializer(field.content, label));
        else if (field.number != value_info_field)
            append(rest, field.whole);
    }
    return rest;
}

}  // namespace

ModelRecord decode(Bytes bytes, const std::string& label) {
    WireCost cost = cost_of_model(bytes);
    if (!cost.is_well_formed)
        fail(label, "it ends within a field, has a field of an unknown kind or is nested too deeply");
    size_t limit = largest_growth * bytes.size() + growth_slack;
    if (cost.bytes > limit)
        fail(label, "its ", bytes.size(), " bytes would become about ", cost.bytes,
             " in memory, more than the ", limit, " that are allowed");
    ModelRecord record;
    std::string rest, graph;
    int graphs = 0;
    WireReader reader(bytes);
    for (WireField field; reader.next(field);) {
        if (field.number == graph_field && field.type == length_delimited) {
            ++graphs;
            graph = graph_without_weights(field.content, record, label);
        } else {
            append(rest, field.whole);
        }
    }
    if (graphs != 1) fail(label, "it has ", graphs, " graphs, not one");
    parse(record.model, rest, label);
    parse(*record.model.mutable_graph(), graph, label);
    record.folder = std::filesystem::path(label).parent_path().string();
    return record;
}

}  // namespace mge::onnx
