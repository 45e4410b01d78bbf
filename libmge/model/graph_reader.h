// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libmge/graph/graph.h"
#include "libmge/model/checked_file.h"
#include "mge_generated.h"

namespace mge {

// Reads the graph of a file, or an inner graph, from its parts. Nothing is trusted: every index, name and
// parameter is checked, and the specs are compared with shape inference.
class GraphReader {
public:
    // `held` are the possible inner graphs of operators.
    GraphReader(const CheckedFile& file, const Tensors& tensors, std::span<const SubgraphRef> held)
        : file_(file), tensors_(tensors), held_(held) {}

    // `Source` is file::Model or file::Graph.
    template <class Source>
    Graph read(const Source& source) {
        Graph graph;
        read_values(graph, source.values(), source.inputs());
        read_nodes(graph, source.nodes());
        read_outputs(graph, source.outputs());
        return graph;
    }

    // The id in the graph by the id in the file.
    const std::vector<ValueId>& ids() const { return ids_; }

private:
    using Values = FileVector<flatbuffers::Offset<file::Value>>;
    using Nodes = FileVector<flatbuffers::Offset<file::Node>>;

    void read_values(Graph& graph, const Values* values, const FileVector<int>* inputs);
    void read_nodes(Graph& graph, const Nodes* nodes);
    void read_node(Graph& graph, const file::Node& node, const std::string& where);
    void read_outputs(Graph& graph, const FileVector<int>* outputs);
    const OpInfo& find_operator(const file::Node& node, const std::string& where) const;
    const file::Value& value(int id, const std::string& where) const;
    DeviceId device_of(const file::Value& value) const;
    OpenDimensions dimensions_of(const file::Value& value, int rank, const std::string& where) const;
    TensorSpec spec_of(const file::Value& value, const std::string& where) const;
    ParamValue param(const file::Attribute& attribute, const std::string& where) const;
    std::shared_ptr<const void> params(const OpInfo& op, const file::Node& node,
                                       const std::string& where) const;
    void check_arity(const OpInfo& op, const std::vector<ValueId>& inputs, const std::string& where) const;
    void check_promotion(const Graph& graph, const OpInfo& op, const std::vector<ValueId>& inputs,
                         const std::string& where) const;
    void check_specs(const Graph& graph, NodeId id, const std::string& where) const;

    const CheckedFile& file_;
    const Tensors& tensors_;
    std::span<const SubgraphRef> held_;
    CheckedFile::List<flatbuffers::Offset<file::Value>> values_{nullptr};
    std::vector<ValueId> ids_;
};

}  // namespace mge
