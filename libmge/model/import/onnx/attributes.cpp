// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "libmge/model/import/onnx/parts.h"

namespace mge::onnx {

using file::AttributeProto;

const AttributeProto* Attributes::find(std::string_view name) const {
    auto found = std::ranges::find_if(node_.attribute(), [&](auto& a) { return a.name() == name; });
    if (found == node_.attribute().end()) return nullptr;
    read_->insert(found->name());
    return &*found;
}

const AttributeProto* Attributes::find(std::string_view name, AttributeProto::AttributeType type) const {
    auto* found = find(name);
    if (found && found->type() != type)
        invalid("its attribute '", name, "' is of type ", int(found->type()), ", not ", int(type));
    return found;
}

int64_t Attributes::integer(std::string_view name, int64_t otherwise) const {
    const int64_t found = value(name, otherwise);
    if (found != int32_t(found))
        invalid("its attribute '", name, "' is ", found, ", expected a number of 32 bits");
    return found;
}

int64_t Attributes::value(std::string_view name, int64_t otherwise) const {
    auto* found = find(name, AttributeProto::INT);
    return found ? found->i() : otherwise;
}

double Attributes::number(std::string_view name, double otherwise) const {
    auto* found = find(name, AttributeProto::FLOAT);
    return found ? double(found->f()) : otherwise;
}

std::string Attributes::word(std::string_view name, std::string_view otherwise) const {
    auto* found = find(name, AttributeProto::STRING);
    return found ? found->s() : std::string(otherwise);
}

std::optional<IntList> Attributes::integers(std::string_view name) const {
    auto* found = find(name, AttributeProto::INTS);
    return found ? std::optional(IntList(found->ints().begin(), found->ints().end())) : std::nullopt;
}

std::optional<FloatList> Attributes::numbers(std::string_view name) const {
    auto* found = find(name, AttributeProto::FLOATS);
    return found ? std::optional(FloatList(found->floats().begin(), found->floats().end())) : std::nullopt;
}

std::vector<std::string> Attributes::words(std::string_view name) const {
    auto* found = find(name, AttributeProto::STRINGS);
    if (!found) return {};
    return {found->strings().begin(), found->strings().end()};
}

const file::TensorProto* Attributes::tensor(std::string_view name) const {
    auto* found = find(name, AttributeProto::TENSOR);
    return found ? &found->t() : nullptr;
}

const file::SparseTensorProto* Attributes::sparse(std::string_view name) const {
    auto* found = find(name, AttributeProto::SPARSE_TENSOR);
    return found ? &found->sparse_tensor() : nullptr;
}

const file::GraphProto* Attributes::graph(std::string_view name) const {
    auto* found = find(name, AttributeProto::GRAPH);
    return found ? &found->g() : nullptr;
}

std::string_view Attributes::unread() const {
    for (auto& attribute : node_.attribute())
        if (!read_->contains(attribute.name())) return attribute.name();
    return {};
}

int Site::rank(size_t i) const { return rank_of(in(i)); }

int Site::axis(int64_t axis, int rank) const {
    if (axis < -rank || axis >= rank) invalid("axis ", axis, " is out of range for rank ", rank);
    return int(axis < 0 ? axis + rank : axis);
}

std::optional<IntList> Site::find_values(size_t i) const {
    if (find_extent(in(i), 0) == 0) return IntList();
    Tensor known = find_value(in(i));
    return known ? std::optional(numbers_in(known)) : std::nullopt;
}

IntList Site::values(size_t i, std::string_view what) const {
    if (auto known = find_values(i)) return *known;
    unsupported(what, " that is known only at run time");
}

std::optional<IntList> Site::values_of(std::string_view attribute, size_t input) const {
    if (attributes.has(attribute)) return attributes.integers(attribute);
    return has(input) ? std::optional(values(input, attribute)) : std::nullopt;
}

}  // namespace mge::onnx
