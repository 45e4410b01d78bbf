// SPDX-License-Identifier: Apache-2.0
#pragma once
// ONNX's operators in terms of ours: one small function for each, and one row per operator and range of
// versions in the file of the function. A function applies our operators to symbolic tensors, so the graph
// that it builds also works for other shapes of the inputs.

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "libmge/model/import/onnx/shapes/symbolic.h"
#include "libmge/model/import/onnx/wire/record.h"
#include "libmge/model/unsupported.h"

namespace mge::onnx {

// The attributes of a node. It records which ones were read: an unread attribute has a meaning that was not
// translated.
class Attributes {
public:
    explicit Attributes(const file::NodeProto& node) : node_(node) {}
    bool has(std::string_view name) const { return find(name); }
    // A count, an axis, a code or a switch: of 32 bits, so that sums and products with it are exact.
    int64_t integer(std::string_view name, int64_t otherwise) const;
    // An element or a bound, which may be any number of 64 bits.
    int64_t value(std::string_view name, int64_t otherwise) const;
    double number(std::string_view name, double otherwise) const;
    std::string word(std::string_view name, std::string_view otherwise) const;
    std::optional<IntList> integers(std::string_view name) const;
    std::optional<FloatList> numbers(std::string_view name) const;
    std::vector<std::string> words(std::string_view name) const;
    // Null if absent.
    const file::TensorProto* tensor(std::string_view name) const;
    const file::SparseTensorProto* sparse(std::string_view name) const;
    const file::GraphProto* graph(std::string_view name) const;
    // The first unread attribute; empty: all were read.
    std::string_view unread() const;

private:
    const file::AttributeProto* find(std::string_view name) const;
    const file::AttributeProto* find(std::string_view name, file::AttributeProto::AttributeType type) const;

    const file::NodeProto& node_;
    // Copies remember together.
    std::shared_ptr<std::set<std::string_view>> read_ = std::make_shared<std::set<std::string_view>>();
};

class Importer;

// A node that is being translated.
class Site {
public:
    Site(const file::NodeProto& node, int opset, std::span<const Tensor> inputs, Importer& importer)
        : node(node), opset(opset), attributes(node), importer(importer), inputs_(inputs) {}
    // The same node with other inputs, as one of another operator.
    Site with(std::span<const Tensor> inputs, int as_of = newest_opset) const {
        Site other(*this);
        other.opset = as_of;
        other.inputs_ = inputs;
        return other;
    }
    const file::NodeProto& node;
    int opset;
    const Attributes attributes;
    Importer& importer;

    size_t size() const { return inputs_.size(); }
    // All inputs from an index on, which must not be absent.
    std::span<const Tensor> inputs(size_t first = 0) const {
        for (size_t i = first; i < size(); ++i) in(i);
        return inputs_.subspan(std::min(first, size()));
    }
    bool has(size_t i) const { return i < inputs_.size() && inputs_[i]; }
    const Tensor& in(size_t i) const {
        if (!has(i)) invalid("input ", i, " is missing");
        return inputs_[i];
    }
    Tensor optional(size_t i) const { return has(i) ? inputs_[i] : Tensor(); }
    // Some reader may exist for output i.
    bool makes(size_t i) const { return int(i) < node.output_size() && !node.output(int(i)).empty(); }
    size_t outputs() const { return size_t(node.output_size()); }
    int rank(size_t i) const;
    // The axis from 0 on that an attribute counts from either end.
    int axis(int64_t axis, int rank) const;
    // The numbers of an input whose value is fixed; nullopt: it is computed.
    std::optional<IntList> find_values(size_t i) const;
    IntList values(size_t i, std::string_view what) const;
    // The numbers of an attribute that later versions have as an input; nullopt: neither is there.
    std::optional<IntList> values_of(std::string_view attribute, size_t input) const;

private:
    std::span<const Tensor> inputs_;
};

using ImportFunction = Tensors (*)(const Site&);

enum class Takes : uint8_t {
    tensors,
    sequences,  // and optionals
    many_axes,  // also tensors of more axes than ours
};

// An operator of ONNX, with the versions of the operator set that the function implements.
struct ImportRow {
    std::string_view name;  // behind its domain and a dot, if that is not the standard's
    ImportFunction import;
    int first = oldest_opset, last = newest_opset;
    Takes takes = Takes::tensors;
};

// A file of rules ends with a function `ImportRows <name>_rows()`. The build collects all of them
// (cmake/list_onnx_rules.cmake); no list names them.
using ImportRows = std::span<const ImportRow>;

// Null if there is no counterpart.
const ImportRow* find_operator(std::string_view domain, std::string_view name, int opset);

// The domain of classical machine learning, whose rows have their own versions.
inline constexpr std::string_view learning_domain = "ai.onnx.ml";
// The domain of the standard has two names.
bool is_standard(std::string_view domain);

}  // namespace mge::onnx
