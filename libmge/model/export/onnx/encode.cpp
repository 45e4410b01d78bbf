// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/export/onnx/encode.h"

#include <onnx.pb.h>

#include <array>
#include <set>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/base/version.h"

namespace mge::to_onnx {
namespace {

// The version of all domains except the standard one: the domain of classical machine learning.
constexpr int domain_version = 3;

// Shapes and the like stay in the file, where readers see them without the other one.
constexpr size_t least_external_bytes = 1024;

bool is_external(const Tensor& tensor) { return tensor.spec().bytes() >= least_external_bytes; }

// The format of files that came with an operator set: {from this operator set on, version}.
constexpr std::array<std::pair<int, int>, 9> ir_versions{
    {{11, 6}, {12, 7}, {15, 8}, {19, 9}, {21, 10}, {23, 11}, {24, 12}, {25, 13}, {28, 14}}};

int ir_version(int opset) {
    int version = 0;
    for (auto& [from, number] : ir_versions)
        if (opset >= from) version = number;
    return version;
}

void fill(::onnx::TensorProto& proto, const std::string& name, const Tensor& tensor) {
    proto.set_name(name);
    proto.set_data_type(type_number(tensor.dtype()));
    for (int64_t extent : tensor.shape().dims()) proto.add_dims(extent);
    if (tensor.spec().bytes() > 0)
        proto.set_raw_data(tensor.data(), tensor.spec().bytes());
    else
        proto.set_raw_data("");
}

void fill_external(::onnx::TensorProto& proto, const std::string& name, const ExternalTensor& placed,
                   const std::string& file) {
    proto.set_name(name);
    proto.set_data_type(type_number(placed.tensor.dtype()));
    for (int64_t extent : placed.tensor.shape().dims()) proto.add_dims(extent);
    proto.set_data_location(::onnx::TensorProto::EXTERNAL);
    auto add = [&](const char* key, const std::string& value) {
        auto* entry = proto.add_external_data();
        entry->set_key(key);
        entry->set_value(value);
    };
    add("location", file);
    add("offset", std::to_string(placed.offset));
    add("length", std::to_string(placed.tensor.spec().bytes()));
}

void fill(::onnx::GraphProto& proto, const GraphRecord& graph);

struct AttributeFiller {
    ::onnx::AttributeProto& proto;
    void operator()(int64_t value) const {
        proto.set_type(::onnx::AttributeProto::INT);
        proto.set_i(value);
    }
    void operator()(double value) const {
        proto.set_type(::onnx::AttributeProto::FLOAT);
        proto.set_f(float(value));
    }
    void operator()(const std::string& value) const {
        proto.set_type(::onnx::AttributeProto::STRING);
        proto.set_s(value);
    }
    void operator()(const IntList& values) const {
        proto.set_type(::onnx::AttributeProto::INTS);
        for (int64_t value : values) proto.add_ints(value);
    }
    void operator()(const FloatList& values) const {
        proto.set_type(::onnx::AttributeProto::FLOATS);
        for (double value : values) proto.add_floats(float(value));
    }
    void operator()(const std::vector<std::string>& values) const {
        proto.set_type(::onnx::AttributeProto::STRINGS);
        for (auto& value : values) proto.add_strings(value);
    }
    void operator()(const Tensor& value) const {
        proto.set_type(::onnx::AttributeProto::TENSOR);
        fill(*proto.mutable_t(), {}, value);
    }
    void operator()(const std::shared_ptr<GraphRecord>& value) const {
        proto.set_type(::onnx::AttributeProto::GRAPH);
        fill(*proto.mutable_g(), *value);
    }
};

std::string domain_of(const NodeRecord& node) {
    auto dot = node.type.rfind('.');
    return dot == std::string::npos ? "" : node.type.substr(0, dot);
}

void fill(::onnx::NodeProto& proto, const NodeRecord& node) {
    if (auto domain = domain_of(node); !domain.empty()) proto.set_domain(domain);
    proto.set_op_type(node.type.substr(node.type.rfind('.') + 1));
    proto.set_name(node.name);
    for (auto& input : node.inputs) proto.add_input(input);
    for (auto& output : node.outputs) proto.add_output(output);
    for (auto& attribute : node.attributes) {
        auto* added = proto.add_attribute();
        added->set_name(attribute.name);
        std::visit(AttributeFiller{*added}, attribute.value);
    }
}

void fill(::onnx::ValueInfoProto& proto, const ValueRecord& value) {
    proto.set_name(value.name);
    auto* type = proto.mutable_type()->mutable_tensor_type();
    type->set_elem_type(type_number(value.dtype));
    if (!value.has_shape) return;
    auto* shape = type->mutable_shape();
    for (auto& extent : value.extents) {
        auto* dim = shape->add_dim();
        if (!extent.name.empty())
            dim->set_dim_param(extent.name);
        else if (extent.number >= 0)
            dim->set_dim_value(extent.number);
    }
}

// The domains of its nodes, including those in inner graphs.
void add_domains(const GraphRecord& graph, std::set<std::string>& domains) {
    for (auto& node : graph.nodes) {
        if (auto domain = domain_of(node); !domain.empty()) domains.insert(domain);
        for (auto& attribute : node.attributes)
            if (auto* inner = std::get_if<std::shared_ptr<GraphRecord>>(&attribute.value))
                add_domains(**inner, domains);
    }
}

void fill_structure(::onnx::GraphProto& proto, const GraphRecord& graph) {
    proto.set_name(graph.name);
    for (auto& value : graph.inputs) fill(*proto.add_input(), value);
    for (auto& value : graph.outputs) fill(*proto.add_output(), value);
    for (auto& node : graph.nodes) fill(*proto.add_node(), node);
}

void fill(::onnx::GraphProto& proto, const GraphRecord& graph) {
    fill_structure(proto, graph);
    for (auto& [name, tensor] : graph.initialisers) fill(*proto.add_initializer(), name, tensor);
}

void fill_with_external(::onnx::GraphProto& proto, const ModelRecord& model, const std::string& file) {
    fill_structure(proto, model.graph);
    auto placed = external_tensors(model);
    auto next = placed.begin();
    for (auto& [name, tensor] : model.graph.initialisers) {
        if (is_external(tensor))
            fill_external(*proto.add_initializer(), name, *next++, file);
        else
            fill(*proto.add_initializer(), name, tensor);
    }
}

}  // namespace

std::vector<ExternalTensor> external_tensors(const ModelRecord& model) {
    std::vector<ExternalTensor> result;
    size_t end = 0;
    for (auto& [name, tensor] : model.graph.initialisers) {
        if (!is_external(tensor)) continue;
        end = round_up(end, external_alignment);
        result.push_back({end, tensor});
        end += tensor.spec().bytes();
    }
    return result;
}

void encode(std::ostream& stream, const ModelRecord& model, const std::string& external) {
    ::onnx::ModelProto proto;
    proto.set_ir_version(ir_version(model.opset));
    proto.set_producer_name("MGE");
    proto.set_producer_version(std::string(version));
    proto.add_opset_import()->set_version(model.opset);
    std::set<std::string> domains;
    add_domains(model.graph, domains);
    for (auto& domain : domains) {
        auto* set = proto.add_opset_import();
        set->set_domain(domain);
        set->set_version(domain_version);
    }
    for (auto& [key, value] : model.metadata) {
        auto* entry = proto.add_metadata_props();
        entry->set_key(key);
        entry->set_value(value);
    }
    if (external.empty())
        fill(*proto.mutable_graph(), model.graph);
    else
        fill_with_external(*proto.mutable_graph(), model, external);
    if (proto.ByteSizeLong() >= size_t(1) << 31)
        throw_value_error("write_onnx", "the model has more than 2 GiB, the limit of an ONNX file");
    proto.SerializeToOstream(&stream);
}

}  // namespace mge::to_onnx
