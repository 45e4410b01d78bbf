// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/onnx.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <sstream>

#include "libmge/base/json_writer.h"
#include "libmge/model/export/onnx/onnx.h"
#include "libmge/model/import/escape_names.h"
#include "libmge/model/import/onnx/importer.h"

namespace mge::onnx {
namespace {

// Our own files contain the recorded batch size; a manipulated number must not enlarge the graph.
constexpr int64_t largest_noted_batch = 1 << 16;

int64_t noted_batch(const file::ModelProto& model) {
    int64_t batch = 0;
    for (auto& entry : model.metadata_props())
        if (entry.key() == onnx_batch_key)
            std::from_chars(entry.value().data(), entry.value().data() + entry.value().size(), batch);
    return batch > 0 && batch <= largest_noted_batch ? batch : 1;
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
    Branches decided;      // by the recorded sizes
    Branches undecided;    // others that could be
    std::string reason;    // reason why no attempt worked: that of the first
    size_t bytes = 0;      // memory of the failed attempts
    bool is_open = false;  // the model has open dimensions
};

// Limits for all attempts together: a few bytes can name many dimensions.
constexpr size_t most_growths = 2;  // multiples of one attempt's memory
constexpr int most_attempts = 16;

// Builds the graph. Demands of operators that refuse the sizes give the next ones; nullopt if there are none.
std::optional<Built> built(Tries& tries, OpenSizes sizes) {
    std::optional<Built> found;
    for (int i = 0; i < most_attempts && tries.bytes <= most_growths * tries.record.limit; ++i) {
        Importer importer(tries.record, tries.label, sizes, tries.decided);
        std::exception_ptr fault;
        try {
            Graph graph = importer.build();
            found = {std::move(graph), importer.take_texts(), importer.sequence_lengths()};
            if (importer.meets_preferences()) return found;
        } catch (const ModelError&) {
            fault = std::current_exception();
            tries.undecided.insert(importer.undecided().begin(), importer.undecided().end());
        } catch (const UserError& e) {
            if (tries.reason.empty()) tries.reason = e.what();
        }
        tries.bytes += importer.bytes();
        tries.is_open = importer.is_open();
        auto better = importer.better_sizes();
        if (!better && fault && !found && tries.decided.empty()) std::rethrow_exception(fault);
        if (!better) break;
        sizes = std::move(*better);
    }
    return found;
}

// A graph needs one size for each dimension: runs that name no other use it, and it decides which branch is
// read where branches give values of different ranks. No operator treats 8 in a special way. Operators that
// refuse a rank demand no sizes; such branches mostly drop an axis of size 1, so the least size is the next.
// The others are those of images and sound whose demands no expression says.
constexpr int64_t recorded_sizes[] = {8, 1, 64, 512, 4096};

std::optional<Built> build(Tries& tries) {
    for (int64_t others : recorded_sizes) {
        if (auto found = built(tries, {.first = noted_batch(tries.record.model), .others = others}))
            return found;
        if (!tries.is_open) break;
    }
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

}  // namespace

Model read_model(const ModelBytes& file, size_t growth_slack, FileAccess external) {
    ModelRecord record = decode(file.bytes, file.label, growth_slack);
    record.external = external;
    Model model;
    Built found = build(record, file.label);
    model.metadata = metadata_of(record, found);
    model.graph = std::move(found.graph);
    model.format = "ONNX";
    escape_names(model);
    return model;
}

}  // namespace mge::onnx
