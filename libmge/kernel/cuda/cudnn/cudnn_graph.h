// SPDX-License-Identifier: Apache-2.0
#pragma once
// cuDNN's backend API: everything is a descriptor with attributes. An operation graph provides engines; an
// engine with its knobs set is a configuration, from which a plan is made, which runs.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/device/cuda/cudnn.h"
#include "libmge/tensor/dtype.h"

namespace mge::cuda {

class CudnnDescriptor {
public:
    explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);

    cudnnBackendDescriptor_t get() const { return held_.get(); }
    template <class T>
    CudnnDescriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                         std::span<const T> values) {
        set_values(name, type, int64_t(values.size()), values.data());
        return *this;
    }
    template <class T>
    CudnnDescriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
        set_values(name, type, 1, &value);
        return *this;
    }
    CudnnDescriptor& set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value);
    CudnnDescriptor& set(cudnnBackendAttributeName_t name, std::span<const CudnnDescriptor> values);
    CudnnDescriptor& finalize();
    // False where cuDNN cannot, which for engines and plans is an answer.
    bool try_finalize();

    // At most so many values; empty without such an attribute.
    template <class T>
    std::vector<T> values(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                          size_t most) const {
        std::vector<T> result(most);
        result.resize(get_values(name, type, most, result.data()));
        return result;
    }
    std::vector<CudnnDescriptor> descriptors(cudnnBackendAttributeName_t name,
                                             cudnnBackendDescriptorType_t type, size_t most) const;

private:
    void set_values(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                    const void* values);
    size_t get_values(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, size_t most,
                      void* values) const;

    std::shared_ptr<std::remove_pointer_t<cudnnBackendDescriptor_t>> held_;
};

// The target of graphs and plans: a device by its handle; or a device that need not be present, by its
// properties in cuDNN's JSON form, whose plans can be inspected but not run.
class CudnnTarget {
public:
    CudnnTarget(const CudnnHandle& handle) : handle_(handle.get()) {}  // NOLINT: a handle is a target
    explicit CudnnTarget(std::string_view properties);

    // Sets itself in a descriptor that has one attribute for handles and another for properties; nullopt: it
    // has neither, because its graph has it already.
    void name_in(CudnnDescriptor& descriptor, std::optional<cudnnBackendAttributeName_t> handle,
                 std::optional<cudnnBackendAttributeName_t> properties) const;

private:
    cudnnHandle_t handle_ = nullptr;
    std::optional<CudnnDescriptor> properties_;
};

cudnnDataType_t cudnn_type(DType dtype);
// With the innermost axis of memory last: 0, 1, 2, 3 is row-major. A virtual tensor is never stored.
using CudnnDims = std::array<int64_t, 4>;
using CudnnOrder = std::array<size_t, 4>;
inline constexpr CudnnOrder cudnn_plain{0, 1, 2, 3}, cudnn_channels_last{0, 2, 3, 1};
CudnnDescriptor cudnn_tensor(int64_t id, cudnnDataType_t type, const CudnnDims& dims, const CudnnOrder& order,
                             bool is_virtual = false);
CudnnDims cudnn_strides(const CudnnDims& dims, const CudnnOrder& order);
// A value is one number in the host's memory, read when the plan is run.
enum class CudnnTensorKind { stored, between, value };
CudnnDescriptor cudnn_tensor(int64_t id, cudnnDataType_t type, const CudnnDims& dims,
                             const CudnnDims& strides, CudnnTensorKind kind);
// y = mode(x), or mode(x, b). `nan`: how a mode that clips its values treats NaN.
CudnnDescriptor cudnn_pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& x, const CudnnDescriptor* b,
                                const CudnnDescriptor& y,
                                cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN);
CudnnDescriptor cudnn_operation_graph(std::span<const CudnnDescriptor> operations, const CudnnTarget& target);

// The alignment of addresses for which plans are made.
inline constexpr int64_t cudnn_alignment = 16;
inline bool is_aligned_for_cudnn(const void* address) { return uintptr_t(address) % cudnn_alignment == 0; }

struct CudnnEngine {
    std::string name;  // "<engine>/k<knob>=<value>,…", stable within a version of cuDNN
    uint32_t numerical_notes = 0, behavior_notes = 0;  // bit i: note i
    CudnnDescriptor config;

    bool has(cudnnBackendNumericalNote_t note) const { return numerical_notes >> note & 1; }
    // Engines that compile their own code take seconds.
    bool is_ready() const { return !(behavior_notes >> CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION & 1); }
};
// The engines proposed by the heuristic, best guess first, without duplicates.
std::vector<CudnnEngine> cudnn_engines(const CudnnDescriptor& graph, const CudnnTarget& target);
// The way back from a name.
CudnnDescriptor cudnn_config(const CudnnDescriptor& graph, std::string_view name, const CudnnTarget& target);

struct CudnnPlan {
    CudnnDescriptor plan;
    size_t workspace = 0;
};
// Nullopt when the engine cannot.
std::optional<CudnnPlan> cudnn_plan(const CudnnDescriptor& config, const CudnnTarget& target);

// `ids` and `addresses` of the graph's tensors that are stored.
void run_cudnn_plan(const CudnnPlan& plan, const CudnnHandle& handle, std::span<const int64_t> ids,
                    std::span<const void* const> addresses, void* workspace);

}  // namespace mge::cuda
