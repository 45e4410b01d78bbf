// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/onnx.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <sstream>

#include "libmge/base/json_writer.h"
#include "libmge/base/utf8.h"
#include "libmge/model/export/onnx/onnx.h"
#include "libmge/model/import/onnx/importer.h"
#include "libmge/model/import/onnx/shapes/extents.h"
#include "libmge/model/import/onnx/shapes/open_extents.h"

namespace mge::onnx {
namespace {

// The sizes tried for open dimensions: image networks may not accept small ones, text networks not large
// ones.
constexpr OpenExtents tried_extents[] = {{1, 8}, {1, 64}, {1, 224}, {2, 2}, {1, 1}};
// Then with states of layers that have the batch behind their first axis, and no name for it.
constexpr OpenExtents tried_with_states[] = {{1, 8, false, true}, {1, 224, false, true}};
// Our own files contain the recorded batch size; a manipulated number must not enlarge the graph.
constexpr int64_t largest_noted_batch = 1 << 16;

bool has_open_extents(const file::GraphProto& graph) {
    return std::ranges::any_of(graph.input(), [](auto& input) {
        return std::ranges::any_of(input.type().tensor_type().shape().dim(), is_open);
    });
}

// Behind a first axis.
bool has_nameless_extents(const file::GraphProto& graph) {
    return std::ranges::any_of(graph.input(), [](auto& input) {
        auto& shape = input.type().tensor_type().shape();
        for (int axis = 1; axis < shape.dim_size(); ++axis)
            if (is_nameless(shape, axis)) return true;
        return false;
    });
}

std::vector<OpenExtents> extents_to_try(const file::ModelProto& model) {
    std::vector<OpenExtents> extents(std::begin(tried_extents), std::end(tried_extents));
    for (auto& entry : model.metadata_props()) {
        if (entry.key() != onnx_batch_key) continue;
        int64_t batch = 0;
        auto& value = entry.value();
        std::from_chars(value.data(), value.data() + value.size(), batch);
        if (batch > 0 && batch <= largest_noted_batch) extents.insert(extents.begin(), {batch, 8});
    }
    if (has_nameless_extents(model.graph()))
        extents.insert(extents.end(), std::begin(tried_with_states), std::end(tried_with_states));
    return extents;
}

// Some exporters write into reshapes the length that they saw, and still call it open: then it is one of the
// small numbers of the file, the more frequent ones first.
constexpr size_t most_baked_tries = 16, longest_target = 8;
constexpr int64_t largest_baked = 4096;

std::vector<OpenExtents> baked_extents(const ModelRecord& record) {
    ExternalFiles files(record.path);
    std::map<int64_t, int> counts;
    auto count = [&](const file::TensorProto& weight, Bytes raw) {
        int64_t elements = 1;
        for (int64_t extent : weight.dims()) elements *= extent;
        bool is_target = weight.data_type() == file::TensorProto::INT64 && weight.dims_size() <= 1 &&
                         elements > 0 && elements <= int64_t(longest_target);
        if (!is_target) return;
        try {
            Tensor target = raw.empty() ? tensor_of(weight, files) : tensor_of(weight, raw, files);
            for (int64_t n : numbers_in(target))
                if (n > 1 && n <= largest_baked) ++counts[n];
        } catch (const UserError&) {  // a node without inputs yet
        } catch (const Unsupported&) {
        }
    };
    record.each_initializer([&](const Initializer& weight) { count(weight.tensor, weight.raw); });
    record.each_node([&](const file::NodeProto& node) {
        for (auto& attribute : node.attribute())
            if (node.op_type() == "Constant" && attribute.has_t()) count(attribute.t(), {});
    });
    std::vector<OpenExtents> extents;
    for (auto& [n, times] : counts) extents.push_back({1, n, true});
    std::ranges::stable_sort(extents, std::greater(), [&](auto& e) { return counts[e.others]; });
    if (extents.size() > most_baked_tries) extents.resize(most_baked_tries);
    return extents;
}

struct Built {
    Graph graph;
    TextTable texts;
    std::map<std::string, size_t> sequence_lengths;
};

// A file, and the results of the attempts to convert it to a graph.
struct Tries {
    const ModelRecord& record;
    const std::string& label;
    Branches decided;    // by the recorded sizes
    Branches undecided;  // others that could be
    std::string reason;  // reason why no attempt worked: that of the first
    size_t bytes = 0;    // memory of the failed attempts
};

// Limit for all attempts together, in multiples of one: a few bytes can name many dimensions.
constexpr size_t most_growths = 2;
bool may_go_on(const Tries& tries) { return tries.bytes <= most_growths * tries.record.limit; }

// Sizes without valid alternatives are those that the exporter has seen and written into the model.
Built built_with(Tries& tries, const OpenExtents& extents) {
    {
        Importer importer(tries.record, tries.label, extents, tries.decided);
        try {
            Graph graph = importer.build();
            return {std::move(graph), importer.take_texts(), importer.sequence_lengths()};
        } catch (const ModelError&) {
            tries.bytes += importer.bytes();
            tries.undecided.insert(importer.undecided().begin(), importer.undecided().end());
            if (extents.fixes_others || !importer.is_alone() || !may_go_on(tries)) throw;
        } catch (const UserError&) {
            tries.bytes += importer.bytes();
            throw;
        }
    }
    OpenExtents fixed = extents;
    fixed.fixes_others = true;
    return built_with(tries, fixed);
}

// Null if the model works with none of them.
std::optional<Built> built(Tries& tries, std::span<const OpenExtents> all) {
    for (auto& extents : all) {
        if (!may_go_on(tries)) break;
        try {
            return built_with(tries, extents);
        } catch (const ModelError&) {
            // Others may decide on other branches.
            if (tries.decided.empty()) throw;
        } catch (const UserError& e) {
            if (tries.reason.empty()) tries.reason = e.what();
        }
        if (!has_open_extents(tries.record.model.graph())) break;
    }
    return std::nullopt;
}

std::optional<Built> build(Tries& tries) {
    if (auto found = built(tries, extents_to_try(tries.record.model))) return found;
    if (has_open_extents(tries.record.model.graph()))
        if (auto found = built(tries, baked_extents(tries.record))) return found;
    return std::nullopt;
}

// Branches may follow branches.
constexpr int most_decisions = 8;

std::optional<Built> build_decided(Tries& tries) {
    for (int i = 0; i < most_decisions; ++i) {
        size_t before = tries.decided.size();
        tries.decided.merge(tries.undecided);
        if (tries.decided.size() == before) break;
        if (auto found = build(tries)) return found;
    }
    return std::nullopt;
}

Built build(const ModelRecord& record, const std::string& label) {
    Tries tries{record, label, {}, {}, {}};
    try {
        if (auto found = build(tries)) return std::move(*found);
    } catch (const ModelError&) {
        if (auto found = build_decided(tries)) return std::move(*found);
        throw;
    }
    throw ModelError(text("'", label, "' is not a valid ONNX model: ", tries.reason));
}

std::string extents_text(const file::TensorShapeProto& shape) {
    std::string result;
    for (auto& dim : shape.dim()) {
        std::string extent = dim.has_dim_value()       ? text(dim.dim_value())
                             : dim.dim_param().empty() ? "?"
                                                       : dim.dim_param();
        result += (result.empty() ? "" : ",") + extent;
    }
    return result;
}

// The labels of a ZipMap's columns.
std::string class_labels(const file::NodeProto& node) {
    std::string result;
    auto add = [&](const auto& label) { result += text(result.empty() ? "" : ",", label); };
    for (auto& attribute : node.attribute()) {
        if (attribute.name() == "classlabels_int64s") std::ranges::for_each(attribute.ints(), add);
        if (attribute.name() == "classlabels_strings") std::ranges::for_each(attribute.strings(), add);
    }
    return result;
}

std::string as_list(const auto& texts) {
    std::ostringstream stream;
    JsonWriter json(stream);
    json.list(texts, [&](const std::string& text) { json.value(text); });
    return stream.str();
}

// Metadata that nothing here reads and a writer may need: the origin of the model, and the names of
// dimensions.
std::map<std::string, std::string> metadata_of(const ModelRecord& record, const Built& built) {
    auto& model = record.model;
    std::map<std::string, std::string> metadata;
    for (auto& entry : model.metadata_props()) metadata[entry.key()] = entry.value();
    metadata.erase(onnx_batch_key);
    auto note = [&](const std::string& key, const std::string& value) {
        if (!value.empty()) metadata["onnx." + key] = value;
    };
    note("producer", model.producer_name());
    note("producer_version", model.producer_version());
    note("ir_version", text(model.ir_version()));
    for (auto& set : model.opset_import())
        note("opset." + (set.domain().empty() ? "ai.onnx" : set.domain()), text(set.version()));
    record.each_node([&](const file::NodeProto& node) {
        if (node.domain() == learning_domain && node.op_type() == "ZipMap" && node.output_size())
            note("classes." + node.output(0), class_labels(node));
    });
    if (!built.texts.values.empty()) {
        note("texts", as_list(built.texts.texts));
        note("texts.of", as_list(built.texts.values));
    }
    for (auto& [name, length] : built.sequence_lengths) note("items." + name, text(length));
    for (auto& input : model.graph().input())
        note("extents." + input.name(), extents_text(input.type().tensor_type().shape()));
    for (auto& output : model.graph().output())
        note("extents." + output.name(), extents_text(output.type().tensor_type().shape()));
    return metadata;
}

// Names may have any encoding: bytes of invalid UTF-8 are escaped.
void escape_names(Model& model) {
    for (ValueId id = 0; id < ValueId(model.graph.values().size()); ++id)
        if (auto& name = model.graph.value(id).name; !is_utf8(name)) name = with_escaped_bytes(name);
    for (NodeId id = 0; id < NodeId(model.graph.nodes().size()); ++id)
        if (auto& name = model.graph.node(id).name; !is_utf8(name)) name = with_escaped_bytes(name);
    std::map<std::string, std::string> escaped;
    for (auto& [key, value] : model.metadata) escaped[with_escaped_bytes(key)] = with_escaped_bytes(value);
    model.metadata = std::move(escaped);
}

}  // namespace

Model read_model(const ModelBytes& file, size_t growth_slack) {
    ModelRecord record = decode(file.bytes, file.label, growth_slack);
    Model model;
    Built found = build(record, file.label);
    model.metadata = metadata_of(record, found);
    model.graph = std::move(found.graph);
    model.format = "ONNX";
    escape_names(model);
    return model;
}

}  // namespace mge::onnx
