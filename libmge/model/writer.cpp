// SPDX-License-Identifier: Apache-2.0
#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <unordered_map>

#include "libmge/base/files/file.h"
#include "libmge/base/hash.h"
#include "libmge/base/utf8.h"
#include "libmge/base/version.h"
#include "libmge/device/device.h"
#include "libmge/graph/inner_graph.h"
#include "libmge/graph/origins.h"
#include "libmge/kernel/packed_copies.h"
#include "libmge/model/container.h"
#include "libmge/model/model.h"
#include "libmge/op/operator_library.h"
#include "mge_generated.h"

namespace mge {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;
template <class T>
using Offset = flatbuffers::Offset<T>;
template <class T>
using Offsets = std::vector<Offset<T>>;

// A reader refuses other text.
Offset<flatbuffers::String> utf8(Builder& b, const std::string& text) {
    if (!is_utf8(text)) throw_value_error("write_model", "the text '", printable(text), "' is not UTF-8");
    return b.CreateString(text);
}

// Places tensors in the data section, one behind the other.
class DataSection {
public:
    // -1: it is not there.
    int find(const Tensor& tensor) const {
        auto found = places_.find(tensor.impl());
        return found == places_.end() ? -1 : found->second;
    }
    int add(const Tensor& tensor) {
        auto [place, is_new] = places_.try_emplace(tensor.impl(), int(tensors_.size()));
        if (!is_new) return place->second;
        tensors_.push_back(tensor);
        offsets_.push_back(align_model_offset(end_));
        end_ = offsets_.back() + tensor.spec().bytes();
        return place->second;
    }
    Offsets<file::Tensor> describe(Builder& b) const {
        Offsets<file::Tensor> result;
        for (size_t i = 0; i < tensors_.size(); ++i) {
            auto& t = tensors_[i];
            verify_constant(t.address());  // a checksum of damaged bytes would hide the damage
            auto dims = t.shape().dims();
            result.push_back(file::CreateTensor(b, b.CreateString(std::string(name_of(t.dtype()))),
                                                b.CreateVector(dims.data(), dims.size()), offsets_[i],
                                                t.spec().bytes(), checksum(t.data(), t.spec().bytes())));
        }
        return result;
    }
    void write(std::ostream& stream) const {
        static constexpr std::array<char, model_alignment> zeros{};
        size_t at = 0;
        for (size_t i = 0; i < tensors_.size(); ++i) {
            stream.write(zeros.data(), std::streamsize(offsets_[i] - at));
            stream.write(static_cast<const char*>(tensors_[i].data()),
                         std::streamsize(tensors_[i].spec().bytes()));
            at = offsets_[i] + tensors_[i].spec().bytes();
        }
    }
    size_t bytes() const { return end_; }

private:
    Tensors tensors_;
    std::unordered_map<const TensorImpl*, int> places_;
    std::vector<size_t> offsets_;
    size_t end_ = 0;
};

// Inner graphs of operators, each once and after its own inner graphs.
class HeldGraphs {
public:
    int add(Builder& b, const SubgraphRef& graph, DataSection& data);
    const Offsets<file::Graph>& all() const { return all_; }

private:
    std::vector<SubgraphRef> added_;
    Offsets<file::Graph> all_;
};

struct AttributeWriter {
    Builder& b;
    const std::string& name;
    HeldGraphs& graphs;
    DataSection& data;
    Offset<file::Attribute> operator()(bool v) const {
        return file::CreateAttribute(b, b.CreateString(name), file::AttributeKind::boolean, v);
    }
    Offset<file::Attribute> operator()(int64_t v) const {
        return file::CreateAttribute(b, b.CreateString(name), file::AttributeKind::integer, v);
    }
    Offset<file::Attribute> operator()(double v) const {
        return file::CreateAttribute(b, b.CreateString(name), file::AttributeKind::number, 0, v);
    }
    Offset<file::Attribute> operator()(const std::string& v) const {
        return file::CreateAttribute(b, b.CreateString(name), file::AttributeKind::text, 0, 0, utf8(b, v));
    }
    Offset<file::Attribute> operator()(const IntList& v) const {
        return file::CreateAttribute(b, b.CreateString(name), file::AttributeKind::integers, 0, 0, 0,
                                     b.CreateVector(v));
    }
    Offset<file::Attribute> operator()(const FloatList& v) const {
        return file::CreateAttribute(b, b.CreateString(name), file::AttributeKind::numbers, 0, 0, 0, 0,
                                     b.CreateVector(v));
    }
    Offset<file::Attribute> operator()(const SubgraphRef& v) const {
        int index = v ? graphs.add(b, v, data) : -1;
        return file::CreateAttribute(b, b.CreateString(name), file::AttributeKind::graph, 0, 0, 0, 0, 0,
                                     index);
    }
};

Offset<flatbuffers::Vector<Offset<file::Dimension>>> describe(Builder& b, const OpenDimensions& dimensions) {
    if (dimensions.empty()) return 0;
    Offsets<file::Dimension> result;
    for (auto& each : dimensions) {
        auto name = each.name.empty() ? Offset<flatbuffers::String>() : utf8(b, each.name);
        result.push_back(file::CreateDimension(b, each.axis, name, each.bounds.lower, each.bounds.upper));
    }
    return b.CreateVector(result);
}

using NoOrigins = Offset<flatbuffers::Vector<int>>;

Offset<file::Value> describe(Builder& b, const Value& value, bool with_origins, DataSection& data) {
    auto dims = value.spec.shape.dims();
    std::vector<int> origin_nodes, origin_outputs;
    for (auto& origin : value.origins) {
        origin_nodes.push_back(origin.node);
        origin_outputs.push_back(origin.output);
    }
    bool has_origins = with_origins && !value.origins.empty();
    auto nodes = has_origins ? b.CreateVector(origin_nodes) : NoOrigins();
    auto outputs = has_origins ? b.CreateVector(origin_outputs) : NoOrigins();
    auto device =
        value.device.is_default ? Offset<flatbuffers::String>() : b.CreateString(logical_name(value.device));
    return file::CreateValue(b, utf8(b, value.name), b.CreateString(std::string(name_of(value.spec.dtype))),
                             b.CreateVector(dims.data(), dims.size()), value.spec.shape.is_known(),
                             value.is_constant() ? data.add(value.constant) : -1, nodes, outputs, device,
                             describe(b, value.dimensions));
}

Offset<file::Node> describe(Builder& b, const Node& node, bool with_origins, HeldGraphs& graphs,
                            DataSection& data) {
    Offsets<file::Attribute> attributes;
    for (auto& [name, value] : save_params(node.op->fields, node.params.get()))
        attributes.push_back(std::visit(AttributeWriter{b, name, graphs, data}, value));
    auto* library = library_of(*node.op);
    return file::CreateNode(b, b.CreateString(std::string(node.op->name)), uint32_t(node.op->version),
                            b.CreateVector(attributes), b.CreateVector(node.inputs),
                            b.CreateVector(node.outputs), utf8(b, node.name),
                            with_origins ? b.CreateVector(node.origins) : NoOrigins(),
                            library ? b.CreateString(library->name) : Offset<flatbuffers::String>());
}

int HeldGraphs::add(Builder& b, const SubgraphRef& held, DataSection& data) {
    auto known = std::ranges::find(added_, held);
    if (known != added_.end()) return int(known - added_.begin());
    const Graph& graph = graph_of(held);
    Offsets<file::Value> values;
    for (auto& value : graph.values()) values.push_back(describe(b, value, false, data));
    Offsets<file::Node> nodes;
    for (auto& node : graph.nodes()) nodes.push_back(describe(b, node, false, *this, data));
    added_.push_back(held);
    all_.push_back(file::CreateGraph(b, b.CreateVector(values), b.CreateVector(nodes),
                                     b.CreateVector(graph.inputs()), b.CreateVector(graph.outputs())));
    return int(all_.size()) - 1;
}

Offset<file::TestCase> describe(Builder& b, const TestCase& test, DataSection& data) {
    std::vector<int> inputs, outputs;
    for (auto& t : test.inputs) inputs.push_back(data.add(t));
    for (auto& t : test.outputs) outputs.push_back(data.add(t));
    return file::CreateTestCase(b, utf8(b, test.name), b.CreateVector(inputs), b.CreateVector(outputs),
                                test.max_error.value_or(-1));
}

// For constants that still exist.
Offsets<file::PackedCopy> describe(Builder& b, const PackedConstants& packed, DataSection& data) {
    Offsets<file::PackedCopy> result;
    for (auto& each : packed.all) {
        int constant = data.find(each.constant);
        if (constant < 0) continue;
        auto* layouts = reinterpret_cast<const uint8_t*>(each.layouts.data());
        result.push_back(file::CreatePackedCopy(b, constant, data.add(each.copy),
                                                b.CreateVector(layouts, each.layouts.size())));
    }
    return result;
}

void build_graph(Builder& b, const Model& model, DataSection& data) {
    bool with_origins = !is_own_source(model.graph);
    Offsets<file::Value> values;
    for (auto& value : model.graph.values()) values.push_back(describe(b, value, with_origins, data));
    Offsets<file::Node> nodes;
    HeldGraphs graphs;
    for (auto& node : model.graph.nodes()) nodes.push_back(describe(b, node, with_origins, graphs, data));
    Offsets<file::SourceNode> sources;
    if (with_origins)
        for (auto& source : *model.graph.source_nodes())
            sources.push_back(file::CreateSourceNode(b, b.CreateString(source.op), utf8(b, source.name),
                                                     source.outputs, source.kind));
    Offsets<file::TestCase> tests;
    for (auto& test : model.test_cases) tests.push_back(describe(b, test, data));
    Offsets<file::Entry> metadata;
    for (auto& [key, value] : model.metadata)
        metadata.push_back(file::CreateEntry(b, utf8(b, key), utf8(b, value)));
    auto packed = describe(b, model.packed, data);
    b.Finish(file::CreateModel(
        b, b.CreateString(text("mge ", version)), b.CreateVector(values), b.CreateVector(nodes),
        b.CreateVector(model.graph.inputs()), b.CreateVector(model.graph.outputs()),
        b.CreateVector(data.describe(b)), b.CreateVector(tests), b.CreateVector(metadata),
        with_origins ? b.CreateVector(sources) : 0, graphs.all().empty() ? 0 : b.CreateVector(graphs.all()),
        packed.empty() ? 0 : b.CreateVector(packed),
        packed.empty() ? Offset<flatbuffers::String>() : utf8(b, model.packed.machine)));
}

}  // namespace

void write_model(std::ostream& stream, const Model& model) {
    Builder b;
    DataSection data;
    build_graph(b, model, data);
    ModelHeader header;
    header.graph_offset = sizeof header;
    header.graph_bytes = b.GetSize();
    header.graph_checksum = checksum(b.GetBufferPointer(), b.GetSize());
    header.data_offset = align_model_offset(header.graph_offset + header.graph_bytes);
    header.file_bytes = header.data_offset + data.bytes();
    header.header_checksum = checksum(&header, offsetof(ModelHeader, header_checksum));
    stream.write(reinterpret_cast<const char*>(&header), sizeof header);
    stream.write(reinterpret_cast<const char*>(b.GetBufferPointer()), std::streamsize(b.GetSize()));
    std::string padding(header.data_offset - header.graph_offset - header.graph_bytes, '\0');
    stream.write(padding.data(), std::streamsize(padding.size()));
    data.write(stream);
}

void write_model(const std::string& path, const Model& model) {
    write_file_atomically(path, [&](std::ostream& stream) { write_model(stream, model); });
}

}  // namespace mge
