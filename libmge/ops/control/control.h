// SPDX-License-Identifier: Apache-2.0
#pragma once
// Common part of the operators with inner graphs.

#include <array>
#include <cstddef>
#include <memory_resource>
#include <string_view>
#include <vector>

#include "libmge/device/queue.h"
#include "libmge/op/op.h"
#include "libmge/op/subgraph.h"

namespace mge::ops {

// UserError unless there is one, of so many operands.
void require_graph(std::string_view op, std::string_view name, const SubgraphRef& graph, size_t operands);

// The results of a graph for the operands. UserError with the operator and the graph's name as prefix.
TensorSpecs infer_graph(std::string_view op, std::string_view name, const SubgraphRef& graph, Specs operands);

// Refuses a carried value that a step gives another spec.
void require_carried(std::string_view op, Specs before, Specs after);

// Positions in a list, and the tensors at them.
std::vector<size_t> float_positions(std::span<const Tensor> tensors, std::span<const bool> wanted = {});
std::vector<size_t> between(const std::vector<size_t>& positions, size_t begin, size_t end);
std::vector<size_t> join(std::vector<size_t> a, const std::vector<size_t>& b);
Tensors at(std::span<const Tensor> tensors, const std::vector<size_t>& positions);
// Which of the carried values `floats`, counted among them, have a gradient for their kept steps;
// `kept_grads` has those of all carried values, or is empty where no steps are kept.
std::vector<size_t> with_kept_gradient(std::span<const Tensor> kept_grads, const std::vector<size_t>& floats);
std::string key_of(std::string_view what, const std::vector<size_t>& a, const std::vector<size_t>& b);
std::string specs_text(Specs specs);
Tensor zeros_like(const Tensor& x);
void append(Tensors& to, std::span<const Tensor> from);

// UserError unless it is one element.
void require_flag(std::string_view op, std::string_view name, const TensorSpec& spec);

// Whether an element in memory of the queue's device is not zero, which the host waits for.
class HostFlag {
public:
    HostFlag(const TensorSpec& spec, DeviceId device);
    bool read(Queue& queue, const void* address) const;
    size_t bytes() const { return bytes_; }

private:
    size_t bytes_;
    bool is_float_, is_host_;
};

// A launch on a CPU may name no queue.
inline Queue& queue_for(const Launch& launch, DeviceId device) {
    return launch.queue ? *launch.queue : queue_of(device);
}

// Memory of a loop: pieces of the workspace begin at multiples of 64.
inline size_t loop_slot(size_t bytes) { return (bytes + 63) / 64 * 64; }
size_t loop_slots(std::span<const size_t> bytes);
std::vector<size_t> bytes_of(Specs specs);
// One of them for each step, along a new first axis.
TensorSpec stacked(const TensorSpec& spec, const Extent& steps);

// Lists of addresses in a call of a loop: on the stack as long as they are short.
class CallMemory {
public:
    // No pointer: a vector would take that for the value of its elements.
    std::pmr::polymorphic_allocator<> get() { return &resource_; }

private:
    std::array<std::byte, 1024> buffer_;
    std::pmr::monotonic_buffer_resource resource_{buffer_.data(), buffer_.size()};
};

inline void* offset_by(void* address, size_t bytes) { return static_cast<char*>(address) + bytes; }
inline const void* offset_by(const void* address, size_t bytes) {
    return static_cast<const char*>(address) + bytes;
}

}  // namespace mge::ops
