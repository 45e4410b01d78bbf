// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/control/control.h"

#include <algorithm>

#include "libmge/base/number_text.h"
#include "libmge/ops/create/full.h"

namespace mge::ops {

void require_graph(std::string_view op, std::string_view name, const SubgraphRef& graph, size_t operands) {
    if (!graph) throw_type_error(op, "parameter '", name, "' must be a graph");
    if (graph->input_count() != operands)
        throw_type_error(op, "the graph '", name, "' takes ", counted(graph->input_count(), "operand"),
                         ", got ", operands);
}

TensorSpecs infer_graph(std::string_view op, std::string_view name, const SubgraphRef& graph,
                        Specs operands) {
    require_graph(op, name, graph, operands.size());
    try {
        return graph->infer(operands);
    } catch (const MemoryError&) {
        throw;
    } catch (const Undecidable&) {
        throw;
    } catch (const UserError& e) {
        throw_user(op, text(name, ": ", e.what()), e.error_class());
    }
}

void require_carried(std::string_view op, Specs before, Specs after) {
    if (after.size() < before.size())
        throw_value_error(op, "the body gives ", counted(after.size(), "result"), " for ",
                          counted(before.size(), "carried value"));
    for (size_t i = 0; i < before.size(); ++i)
        if (before[i].dtype != after[i].dtype || before[i].layout != after[i].layout ||
            !can_be_same(op, before[i].shape, after[i].shape))
            throw_value_error(op, "a step changes carried value ", i, " from ", before[i], " to ", after[i]);
}

std::vector<size_t> float_positions(std::span<const Tensor> tensors, std::span<const bool> wanted) {
    std::vector<size_t> result;
    for (size_t i = 0; i < tensors.size(); ++i)
        if (tensors[i] && is_float(tensors[i].dtype()) && (wanted.empty() || wanted[i])) result.push_back(i);
    return result;
}

std::vector<size_t> between(const std::vector<size_t>& positions, size_t begin, size_t end) {
    std::vector<size_t> result;
    for (size_t i : positions)
        if (i >= begin && i < end) result.push_back(i);
    return result;
}

std::vector<size_t> join(std::vector<size_t> a, const std::vector<size_t>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

std::vector<size_t> with_kept_gradient(std::span<const Tensor> kept_grads,
                                       const std::vector<size_t>& floats) {
    std::vector<size_t> result;
    for (size_t i = 0; i < floats.size() && !kept_grads.empty(); ++i)
        if (kept_grads[floats[i]]) result.push_back(i);
    return result;
}

Tensors at(std::span<const Tensor> tensors, const std::vector<size_t>& positions) {
    Tensors result;
    for (size_t i : positions) result.push_back(tensors[i]);
    return result;
}

std::string key_of(std::string_view what, const std::vector<size_t>& a, const std::vector<size_t>& b) {
    std::string key(what);
    for (size_t i : a) key += text(' ', i);
    key += " /";
    for (size_t i : b) key += text(' ', i);
    return key;
}

std::string specs_text(Specs specs) {
    std::string result;
    for (auto& spec : specs) result += text(' ', spec);
    return result;
}

Tensor zeros_like(const Tensor& x) { return full_like(x, {.value = 0}); }

void append(Tensors& to, std::span<const Tensor> from) { to.insert(to.end(), from.begin(), from.end()); }

void require_flag(std::string_view op, std::string_view name, const TensorSpec& spec) {
    if (!spec.shape.is_known() || spec.shape.numel() != 1)
        throw_value_error(op, "the ", name, " must be one element, got ", spec);
}

HostFlag::HostFlag(const TensorSpec& spec, DeviceId device)
    : bytes_(spec.bytes()), is_float_(is_float(spec.dtype)), is_host_(device.is_host()) {}

bool HostFlag::read(Queue& queue, const void* address) const {
    unsigned char bytes[8];
    if (is_host_)
        std::copy_n(static_cast<const unsigned char*>(address), bytes_, bytes);
    else
        queue.copy_to_host(bytes, address, bytes_);
    // Little-endian: the sign of a float zero is in the last byte.
    if (is_float_) bytes[bytes_ - 1] &= 0x7f;
    return std::any_of(bytes, bytes + bytes_, [](unsigned char byte) { return byte != 0; });
}

size_t loop_slots(std::span<const size_t> bytes) {
    size_t sum = 0;
    for (size_t each : bytes) sum += loop_slot(each);
    return sum;
}

std::vector<size_t> bytes_of(Specs specs) {
    std::vector<size_t> bytes;
    for (auto& spec : specs) bytes.push_back(spec.bytes());
    return bytes;
}

TensorSpec stacked(const TensorSpec& spec, const Extent& steps) {
    Shape shape = spec.shape;
    shape.insert(0, steps);
    return {spec.dtype, shape, {}};
}

}  // namespace mge::ops
