// SPDX-License-Identifier: Apache-2.0
// cuDNN's backend API for the emulated GPU. It knows convolutions and attention, takes what the documentation
// lets it take, and has engines of every kind: fast and exact ones, one that rounds factors to TF32, one that
// says that its results differ between runs, those that compile code first, and those that cannot.

#include "libmge/device/cuda/cudnn.h"

#include <algorithm>
#include <cstring>

#include "libmge/base/error.h"
#include "tests/cuda/emulated/cudnn_attention_run.h"
#include "tests/cuda/emulated/cudnn_graph_run.h"
#include "tests/cuda/emulated/library_work.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

struct cudnnContext {
    cudaStream_t stream = nullptr;
};

namespace mge::cuda {
namespace {

using emulated::Descriptor;

thread_local std::string last_message;

cudnnStatus_t refuse(cudnnStatus_t status, std::string why) {
    last_message = std::move(why);
    return status;
}

Descriptor& as_descriptor(cudnnBackendDescriptor_t d) { return *static_cast<Descriptor*>(d); }

enum class Use { convolution, attention, attention_backward };

struct Engine {
    int64_t number;
    cudnnDataType_t type;
    std::vector<cudnnBackendNumericalNote_t> notes{};
    std::vector<int64_t> knobs{};  // values of knob 2
    int64_t workspace = 0;
    bool copies_plain_images = false, compiles = false, is_of_weights = false, wants_channels_last = false;
    Use use = Use::convolution;
    bool makes_plans = true;
};
const std::vector<Engine>& engines() {
    constexpr int64_t odd = 131;
    static const std::vector<Engine> all{
        {10, CUDNN_DATA_HALF, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, {5, 1}, 0, true},
        {41, CUDNN_DATA_HALF, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, {4}, odd, true},
        {10, CUDNN_DATA_BFLOAT16, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, {5}, 0, true},
        {51,
         CUDNN_DATA_FLOAT,
         {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS},
         {5},
         odd,
         true},
        {44, CUDNN_DATA_FLOAT, {}, {2}, 0},
        {0, CUDNN_DATA_FLOAT, {CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP}, {}, 0},
        {.number = 70, .type = CUDNN_DATA_HALF, .compiles = true, .makes_plans = false},
        {1, CUDNN_DATA_FLOAT, {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, {}, 512, false, false, true},
        {.number = 28, .type = CUDNN_DATA_INT8, .knobs = {3}, .workspace = odd, .wants_channels_last = true},
        {.number = 70, .type = CUDNN_DATA_INT8, .compiles = true, .makes_plans = false},
        {.number = 0, .type = CUDNN_DATA_INT8, .notes = {CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP}},
        // With both narrow types.
        {.number = 9,
         .type = {},
         .knobs = {7},
         .compiles = true,
         .use = Use::attention,
         .makes_plans = false},
        {.number = 8, .type = {}, .knobs = {6, 3}, .workspace = odd, .compiles = true, .use = Use::attention},
        {.number = 6,
         .type = {},
         .knobs = {26},
         .workspace = odd,
         .compiles = true,
         .use = Use::attention_backward},
    };
    return all;
}

// The graph of an engine or a configuration.
const Descriptor& graph_of(const Descriptor& engine) {
    return engine.other(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
}

// The kind of a graph; neither: no engine supports it.
struct Work {
    std::optional<emulated::ConvolutionPattern> convolution;
    std::optional<emulated::AttentionPattern> attention;

    explicit Work(const Descriptor& graph)
        : convolution(emulated::pattern_of(graph)), attention(emulated::attention_of(graph)) {}
    std::vector<const Descriptor*> written() const {
        return attention ? attention->written : std::vector{convolution->result};
    }
    std::vector<const Descriptor*> stored() const {
        if (!attention) return convolution->stored;
        auto all = attention->read;
        all.insert(all.end(), attention->written.begin(), attention->written.end());
        return all;
    }
    std::vector<const Descriptor*> values() const {
        return attention ? attention->values : std::vector<const Descriptor*>();
    }
    bool has(const Engine& engine) const {
        if (attention)
            return engine.use == (attention->is_backward ? Use::attention_backward : Use::attention);
        if (!convolution || engine.use != Use::convolution || engine.type != convolution->type) return false;
        bool is_of_weights =
            convolution->operation->type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
        return (is_of_weights || !engine.is_of_weights) &&
               (convolution->is_channels_last || !engine.wants_channels_last);
    }
};

const Engine* find_engine(const Work& work, int64_t number) {
    for (auto& engine : engines())
        if (engine.number == number && work.has(engine)) return &engine;
    return nullptr;
}

int64_t bytes_of(const Descriptor& tensor) {
    auto type = tensor.value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
    int64_t bytes = type == CUDNN_DATA_INT8                                ? 1
                    : type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_INT32 ? 4
                                                                           : 2;
    for (int64_t i = 0; i < tensor.count(CUDNN_ATTR_TENSOR_DIMENSIONS); ++i)
        bytes *= tensor.values<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS)[i];
    return bytes;
}

// --- what descriptors find out when they are finalized ---

std::shared_ptr<Descriptor> made(cudnnBackendDescriptorType_t type) {
    auto d = std::make_shared<Descriptor>();
    d->type = type;
    d->is_final = true;
    return d;
}

void describe_engine(Descriptor& d, const Engine& engine) {
    d.give(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, engine.notes);
    std::vector<cudnnBackendBehaviorNote_t> notes;
    if (engine.compiles) notes.push_back(CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION);
    d.give(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, notes);
}

std::shared_ptr<Descriptor> configuration(const std::shared_ptr<Descriptor>& graph, const Engine& engine,
                                          const int64_t* knob) {
    auto e = made(CUDNN_BACKEND_ENGINE_DESCRIPTOR), config = made(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    e->attributes[CUDNN_ATTR_ENGINE_OPERATION_GRAPH] = {CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, {}, {graph}};
    e->give(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, std::vector{engine.number});
    describe_engine(*e, engine);
    config->attributes[CUDNN_ATTR_ENGINECFG_ENGINE] = {CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, {}, {e}};
    if (knob) {
        auto choice = made(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
        choice->give(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE,
                     std::vector{cudnnBackendKnobType_t(2)});
        choice->give(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, std::vector{*knob});
        config->attributes[CUDNN_ATTR_ENGINECFG_KNOB_CHOICES] = {
            CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, {}, {choice}};
    }
    return config;
}

void propose(Descriptor& heuristic) {
    auto graph = heuristic.others(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH).front();
    std::vector<std::shared_ptr<Descriptor>> found;
    const Work work(*graph);
    for (auto& engine : engines()) {
        if (find_engine(work, engine.number) != &engine) continue;
        if (engine.knobs.empty()) found.push_back(configuration(graph, engine, nullptr));
        for (auto& knob : engine.knobs) found.push_back(configuration(graph, engine, &knob));
    }
    auto count = int64_t(found.size());
    heuristic.attributes[CUDNN_ATTR_ENGINEHEUR_RESULTS] = {CUDNN_TYPE_BACKEND_DESCRIPTOR, count, {}, found};
}

cudnnStatus_t finish_engine(Descriptor& d) {
    auto* engine = find_engine(Work(graph_of(d)), d.value<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
    if (!engine) return refuse(CUDNN_STATUS_NOT_SUPPORTED, "no such engine for the graph");
    describe_engine(d, *engine);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finish_plan(Descriptor& plan) {
    if (plan.has(CUDNN_ATTR_EXECUTION_PLAN_HANDLE) == plan.has(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP))
        return refuse(CUDNN_STATUS_BAD_PARAM, "a handle or properties");
    auto& d = plan.other(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).other(CUDNN_ATTR_ENGINECFG_ENGINE);
    const Work work(graph_of(d));
    auto& engine = *find_engine(work, d.value<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
    if (!engine.makes_plans) return refuse(CUDNN_STATUS_NOT_SUPPORTED, "not this one");
    int64_t workspace = engine.workspace;
    if (engine.copies_plain_images && !work.convolution->is_channels_last)
        for (auto* tensor : work.convolution->stored) workspace += bytes_of(*tensor);
    plan.give(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, std::vector{workspace});
    return CUDNN_STATUS_SUCCESS;
}

// --- the API ---

cudnnStatus_t create(cudnnHandle_t* handle) {
    *handle = std::make_unique<cudnnContext>().release();
    return CUDNN_STATUS_SUCCESS;
}
size_t version() { return CUDNN_VERSION; }
cudnnStatus_t set_stream(cudnnHandle_t handle, cudaStream_t stream) {
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}
const char* error_string(cudnnStatus_t) { return "emulated"; }
void last_error(char* message, size_t bytes) {
    size_t length = std::min(last_message.size(), bytes - 1);
    std::memcpy(message, last_message.data(), length);
    message[length] = 0;
}

cudnnStatus_t create_descriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* d) {
    auto descriptor = std::make_unique<Descriptor>();
    descriptor->type = type;
    *d = descriptor.release();
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t destroy_descriptor(cudnnBackendDescriptor_t d) {
    std::unique_ptr<Descriptor>{static_cast<Descriptor*>(d)};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t set_attribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t type, int64_t count, const void* values) {
    std::string why = as_descriptor(d).set(name, type, count, values);
    return why.empty() ? CUDNN_STATUS_SUCCESS : refuse(CUDNN_STATUS_BAD_PARAM, std::move(why));
}

cudnnStatus_t get_attribute(cudnnBackendDescriptor_t given, cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t type, int64_t most, int64_t* count, void* values) {
    auto& d = as_descriptor(given);
    if (!d.is_final) return refuse(CUDNN_STATUS_BAD_PARAM, "it is not finalized");
    *count = 0;
    if (!d.has(name)) return refuse(CUDNN_STATUS_BAD_PARAM, "it has no such attribute");
    auto& attribute = d.attributes.at(name);
    if (attribute.type != type) return refuse(CUDNN_STATUS_BAD_PARAM, "of another type");
    *count = attribute.count;
    int64_t taken = std::min(most, attribute.count);
    if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        size_t each = attribute.count ? attribute.bytes.size() / size_t(attribute.count) : 0;
        std::memcpy(values, attribute.bytes.data(), size_t(taken) * each);
        return CUDNN_STATUS_SUCCESS;
    }
    // Into descriptors of the caller's.
    for (int64_t i = 0; i < taken; ++i) {
        auto& to = as_descriptor(static_cast<cudnnBackendDescriptor_t*>(values)[i]);
        if (to.type != attribute.others[size_t(i)]->type)
            return refuse(CUDNN_STATUS_BAD_PARAM, "of another type");
        to = *attribute.others[size_t(i)];
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize(cudnnBackendDescriptor_t given) {
    auto& d = as_descriptor(given);
    if (std::string why = d.why_not_final(); !why.empty())
        return refuse(CUDNN_STATUS_BAD_PARAM, std::move(why));
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    if (d.type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR) propose(d);
    if (d.type == CUDNN_BACKEND_ENGINE_DESCRIPTOR) status = finish_engine(d);
    if (d.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) status = finish_plan(d);
    d.is_final = status == CUDNN_STATUS_SUCCESS;
    return status;
}

// Empty, or what is wrong with the addresses of a run.
std::string why_not_run(const Work& work, const std::map<int64_t, void*>& addresses, const void* workspace,
                        int64_t workspace_bytes) {
    auto id_of = [](const Descriptor* tensor) { return tensor->value<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID); };
    auto stored = work.stored(), written = work.written();
    if (addresses.size() != stored.size() + work.values().size())
        return "an address for each stored tensor and value, and no other";
    for (auto* value : work.values())
        if (!addresses.contains(id_of(value))) return "a value has no address";
    for (auto* tensor : stored) {
        auto found = addresses.find(id_of(tensor));
        if (found == addresses.end() || !found->second) return "a tensor has no address";
        auto alignment = uintptr_t(tensor->value<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT));
        if (uintptr_t(found->second) % alignment != 0) return "an address is not aligned as its tensor says";
        for (auto* result : written)
            if (tensor != result && found->second == addresses.at(id_of(result)))
                return "a result lies where another tensor does";
    }
    if (workspace_bytes == 0) return {};
    return workspace && uintptr_t(workspace) % 16 == 0 ? "" : "a workspace, aligned to 16";
}

cudnnStatus_t execute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
    auto &p = as_descriptor(plan), &v = as_descriptor(pack);
    if (!p.is_final || !v.is_final || !p.has(CUDNN_ATTR_EXECUTION_PLAN_HANDLE))
        return refuse(CUDNN_STATUS_BAD_PARAM, "a plan of a handle and a pack, both final");
    std::map<int64_t, void*> addresses;
    for (int64_t i = 0; i < v.count(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS); ++i)
        addresses[v.values<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS)[i]] =
            v.values<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)[i];
    auto kept = std::make_shared<const Descriptor>(p);
    auto& engine = kept->other(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).other(CUDNN_ATTR_ENGINECFG_ENGINE);
    auto work = std::make_shared<const Work>(graph_of(engine));
    auto bytes = p.value<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
    void* workspace = v.has(CUDNN_ATTR_VARIANT_PACK_WORKSPACE)
                          ? v.value<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE)
                          : nullptr;
    if (std::string why = why_not_run(*work, addresses, workspace, bytes); !why.empty())
        return refuse(CUDNN_STATUS_BAD_PARAM, std::move(why));
    bool in_tf32 = engine.value<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX) == 51;
    // Values are the host's, which may change as soon as the call returns.
    auto values = work->attention ? emulated::read_values(*work->attention, addresses) : emulated::Numbers();
    bool is_enqueued = emulated::enqueue_on_stream(handle->stream, [=] {
        // Other contents of the workspace are lost.
        if (bytes) std::memset(workspace, 0xcd, size_t(bytes));
        if (work->attention)
            emulated::run_attention(*work->attention, addresses, values);
        else
            emulated::run_pattern(*work->convolution, addresses, in_tf32);
        static_cast<void>(kept);
    });
    return is_enqueued ? CUDNN_STATUS_SUCCESS : refuse(CUDNN_STATUS_EXECUTION_FAILED, "the device is lost");
}

}  // namespace

const Cudnn& cudnn() {
    static const Cudnn present{{},
                               create,
                               version,
                               set_stream,
                               error_string,
                               last_error,
                               create_descriptor,
                               destroy_descriptor,
                               set_attribute,
                               get_attribute,
                               finalize,
                               execute};
    static const Cudnn missing{.why_not = "cannot open libcudnn_graph.so.9"};
    return emulated::are_libraries_hidden() ? missing : present;
}

}  // namespace mge::cuda
