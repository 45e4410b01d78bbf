// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/cudnn/cudnn_graph.h"

#include <algorithm>
#include <charconv>

#include "libmge/base/error.h"

// The newer way to identify a device, by its properties, makes plans without a handle.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace mge::cuda {
namespace {

constexpr size_t most_engines = 64;

std::vector<cudnnBackendDescriptor_t> raw(std::span<const CudnnDescriptor> descriptors) {
    std::vector<cudnnBackendDescriptor_t> result;
    for (auto& descriptor : descriptors) result.push_back(descriptor.get());
    return result;
}

template <class Note>
uint32_t notes_of(const CudnnDescriptor& engine, cudnnBackendAttributeName_t name,
                  cudnnBackendAttributeType_t type, size_t count) {
    uint32_t bits = 0;
    for (Note note : engine.values<Note>(name, type, count)) bits |= 1u << note;
    return bits;
}

std::string name_of(const CudnnDescriptor& config, const CudnnDescriptor& engine) {
    auto id = engine.values<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1);
    std::string name = std::to_string(id.at(0));
    const char* separator = "/k";
    for (auto& knob : config.descriptors(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                         CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS)) {
        auto type =
            knob.values<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1);
        auto value = knob.values<int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1);
        name += separator + std::to_string(int(type.at(0))) + "=" + std::to_string(value.at(0));
        separator = ",k";
    }
    return name;
}

CudnnEngine describe(const CudnnDescriptor& config) {
    auto engines = config.descriptors(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
    auto& engine = engines.at(0);
    return {name_of(config, engine),
            notes_of<cudnnBackendNumericalNote_t>(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                  CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT),
            notes_of<cudnnBackendBehaviorNote_t>(engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
                                                 CUDNN_TYPE_BEHAVIOR_NOTE, CUDNN_BEHAVIOR_NOTE_TYPE_COUNT),
            config};
}

// Reads a number and removes it from the text.
int64_t take_number(std::string_view& text) {
    int64_t value = 0;
    auto end = std::from_chars(text.data(), text.data() + text.size(), value).ptr;
    text.remove_prefix(std::min(size_t(end - text.data()) + 1, text.size()));
    return value;
}

}  // namespace

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
    cudnnBackendDescriptor_t made = nullptr;
    cudnn().check(cudnn().create_descriptor(type, &made),
                  text("BackendCreateDescriptor of type ", int(type)));
    held_.reset(made, [](cudnnBackendDescriptor_t d) { cudnn().destroy_descriptor(d); });
}

void CudnnDescriptor::set_values(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                 int64_t count, const void* values) {
    auto status = cudnn().set_attribute(get(), name, type, count, values);
    if (status != CUDNN_STATUS_SUCCESS)
        cudnn().check(status, text("BackendSetAttribute of attribute ", int(name)));
}

CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
    return set(name, std::span(&value, 1));
}
CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t name,
                                      std::span<const CudnnDescriptor> values) {
    auto list = raw(values);
    set_values(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, int64_t(list.size()), list.data());
    return *this;
}

CudnnDescriptor& CudnnDescriptor::finalize() {
    cudnn().check(cudnn().finalize(get()), "BackendFinalize");
    return *this;
}
bool CudnnDescriptor::try_finalize() { return cudnn().finalize(get()) == CUDNN_STATUS_SUCCESS; }

size_t CudnnDescriptor::get_values(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                   size_t most, void* values) const {
    int64_t count = 0;
    auto status = cudnn().get_attribute(get(), name, type, int64_t(most), &count, values);
    return status == CUDNN_STATUS_SUCCESS ? std::min(size_t(count), most) : 0;
}

std::vector<CudnnDescriptor> CudnnDescriptor::descriptors(cudnnBackendAttributeName_t name,
                                                          cudnnBackendDescriptorType_t type,
                                                          size_t most) const {
    std::vector<CudnnDescriptor> made;
    for (size_t i = 0; i < most; ++i) made.emplace_back(type);
    auto list = raw(made);
    made.erase(made.begin() + int64_t(get_values(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, list.data())),
               made.end());
    return made;
}

cudnnDataType_t cudnn_type(DType dtype) {
    switch (dtype) {
        case DType::f16:
            return CUDNN_DATA_HALF;
        case DType::bf16:
            return CUDNN_DATA_BFLOAT16;
        case DType::i8:
            return CUDNN_DATA_INT8;
        case DType::i32:
            return CUDNN_DATA_INT32;
        default:
            return CUDNN_DATA_FLOAT;
    }
}

CudnnTarget::CudnnTarget(std::string_view properties) {
    properties_.emplace(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    properties_->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                     std::span<const char>(properties));
    properties_->finalize();
}

void CudnnTarget::name_in(CudnnDescriptor& descriptor, std::optional<cudnnBackendAttributeName_t> handle,
                          std::optional<cudnnBackendAttributeName_t> properties) const {
    if (handle_ && handle) descriptor.set(*handle, CUDNN_TYPE_HANDLE, handle_);
    if (properties_ && properties) descriptor.set(*properties, *properties_);
}

CudnnDims cudnn_strides(const CudnnDims& dims, const CudnnOrder& order) {
    CudnnDims strides{};
    int64_t stride = 1;
    for (size_t i = order.size(); i-- > 0;) {
        strides[order[i]] = stride;
        stride *= dims[order[i]];
    }
    return strides;
}

CudnnDescriptor cudnn_tensor(int64_t id, cudnnDataType_t type, const CudnnDims& dims,
                             const CudnnDims& strides, CudnnTensorKind kind) {
    CudnnDescriptor d(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    d.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
    d.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
    d.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, cudnn_alignment);
    d.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, std::span<const int64_t>(dims));
    d.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, std::span<const int64_t>(strides));
    d.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, kind == CudnnTensorKind::between);
    if (kind == CudnnTensorKind::value) d.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, true);
    return d.finalize();
}
CudnnDescriptor cudnn_tensor(int64_t id, cudnnDataType_t type, const CudnnDims& dims, const CudnnOrder& order,
                             bool is_virtual) {
    return cudnn_tensor(id, type, dims, cudnn_strides(dims, order),
                        is_virtual ? CudnnTensorKind::between : CudnnTensorKind::stored);
}

CudnnDescriptor cudnn_pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& x, const CudnnDescriptor* b,
                                const CudnnDescriptor& y, cudnnNanPropagation_t nan) {
    CudnnDescriptor what(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    if (nan != CUDNN_NOT_PROPAGATE_NAN)
        what.set(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, nan);
    what.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
    what.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT).finalize();
    CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, what);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
    return operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y).finalize();
}

CudnnDescriptor cudnn_operation_graph(std::span<const CudnnDescriptor> operations,
                                      const CudnnTarget& target) {
    CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    target.name_in(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, std::nullopt);
    return graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations).finalize();
}

std::vector<CudnnEngine> cudnn_engines(const CudnnDescriptor& graph, const CudnnTarget& target) {
    std::vector<CudnnEngine> result;
    for (auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
        CudnnDescriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
        heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
        heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
        target.name_in(heuristic, std::nullopt, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
        if (!heuristic.try_finalize()) continue;
        for (auto& config : heuristic.descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                                  CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, most_engines)) {
            auto engine = describe(config);
            if (std::ranges::find(result, engine.name, &CudnnEngine::name) == result.end())
                result.push_back(std::move(engine));
        }
    }
    return result;
}

CudnnDescriptor cudnn_config(const CudnnDescriptor& graph, std::string_view name, const CudnnTarget& target) {
    CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR), config(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
    target.name_in(engine, std::nullopt, CUDNN_ATTR_ENGINE_DEVICEPROP);
    engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, take_number(name)).finalize();
    std::vector<CudnnDescriptor> knobs;
    while (name.size() > 1) {
        name.remove_prefix(1);  // k
        auto type = cudnnBackendKnobType_t(take_number(name));
        auto& knob = knobs.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
        knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, type);
        knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, take_number(name)).finalize();
    }
    config.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    if (!knobs.empty())
        config.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, std::span<const CudnnDescriptor>(knobs));
    return config.finalize();
}

std::optional<CudnnPlan> cudnn_plan(const CudnnDescriptor& config, const CudnnTarget& target) {
    CudnnPlan result{CudnnDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)};
    target.name_in(result.plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
    result.plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    if (!result.plan.try_finalize()) return std::nullopt;
    auto bytes = result.plan.values<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1);
    result.workspace = bytes.empty() ? 0 : size_t(bytes[0]);
    return result;
}

void run_cudnn_plan(const CudnnPlan& plan, const CudnnHandle& handle, std::span<const int64_t> ids,
                    std::span<const void* const> addresses, void* workspace) {
    CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, ids);
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, addresses);
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace).finalize();
    cudnn().check(cudnn().execute(handle.get(), plan.plan.get(), pack.get()), "BackendExecute");
}

}  // namespace mge::cuda
