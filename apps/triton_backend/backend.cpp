// SPDX-License-Identifier: Apache-2.0
// The backend "mge" of Triton: reads requests, runs them as one batch, writes responses.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>

#include "apps/triton_backend/model.h"
#include "apps/triton_backend/triton_api.h"

namespace mge::triton {

namespace {

using Shape = std::vector<int64_t>;

// An error of the client's request.
struct RequestError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Throws the error of a call.
void check(TRITONSERVER_Error* error) {
    if (!error) return;
    const std::string message = TRITONSERVER_ErrorMessage(error);
    TRITONSERVER_ErrorDelete(error);
    throw std::runtime_error(message);
}

// Runs an entry point; an exception becomes an error.
TRITONSERVER_Error* guarded(const std::function<void()>& body) {
    try {
        body();
        return nullptr;
    } catch (const RequestError& error) {
        return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, error.what());
    } catch (const std::exception& error) {
        return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, error.what());
    }
}

uint64_t now_ns() {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

uint64_t requested_bytes(LiteDataType type, std::span<const int64_t> shape) {
    uint64_t size = size_of(type);
    for (const int64_t extent : shape) {
        if (extent < 1) throw RequestError("a dimension of a shape is below 1");
        if (__builtin_mul_overflow(size, static_cast<uint64_t>(extent), &size)) {
            throw RequestError("a shape has too many elements");
        }
    }
    return size;
}

struct Instance {
    Model& model;
    std::unique_ptr<Network> network;
};

struct InputData {
    TRITONBACKEND_Input* input = nullptr;
    Shape shape;
    uint32_t buffer_count = 0;
    uint64_t size = 0;
};

struct Job {
    TRITONBACKEND_Request* request = nullptr;
    TRITONBACKEND_Response* response = nullptr;
    int64_t rows = 1;
    std::vector<InputData> inputs;
    TRITONSERVER_Error* error = nullptr;
};

// Reads the descriptions of a request's inputs and compares them with the model.
void read_inputs(const Instance& instance, Job& job) {
    const bool has_rows = instance.model.max_batch() > 0;
    for (const TensorInfo& info : instance.network->inputs()) {
        InputData data;
        check(TRITONBACKEND_RequestInput(job.request, info.name.c_str(), &data.input));
        TRITONSERVER_DataType type;
        const int64_t* shape = nullptr;
        uint32_t rank = 0;
        check(TRITONBACKEND_InputProperties(data.input, nullptr, &type, &shape, &rank, &data.size,
                                            &data.buffer_count));
        data.shape.assign(shape, shape + rank);
        if (type != TRITONSERVER_StringToDataType(name_of(info.type))) {
            throw RequestError("input " + info.name + " is " + name_of(info.type));
        }
        const size_t first = has_rows ? 1 : 0;
        bool fits = data.shape.size() == info.shape.size() && data.shape.size() >= first;
        for (size_t i = first; fits && i < data.shape.size(); ++i) {
            fits = info.shape[i] < 0 || info.shape[i] == data.shape[i];
        }
        if (!fits) throw RequestError("input " + info.name + " has a shape that the model does not accept");
        const uint64_t expected = requested_bytes(info.type, data.shape);
        if (data.size != expected) {
            throw RequestError("input " + info.name + " has " + std::to_string(data.size) +
                               " bytes, its shape " + std::to_string(expected));
        }
        if (has_rows) {
            if (!job.inputs.empty() && data.shape[0] != job.rows) {
                throw RequestError("input " + info.name + " has another number of rows than the first input");
            }
            job.rows = data.shape[0];
        }
        job.inputs.push_back(std::move(data));
    }
}

// Whether two requests differ in the number of rows only.
bool fit_together(const Job& a, const Job& b) {
    return std::ranges::equal(a.inputs, b.inputs, [](const InputData& x, const InputData& y) {
        return x.shape.size() == y.shape.size() && !x.shape.empty() &&
               std::equal(x.shape.begin() + 1, x.shape.end(), y.shape.begin() + 1);
    });
}

// Any byte of a BOOL but 0 is true; kernels expect 0 and 1.
void copy_input(const InputData& data, LiteDataType dtype, std::byte* to) {
    for (uint32_t i = 0; i < data.buffer_count; ++i) {
        const void* buffer = nullptr;
        uint64_t size = 0;
        TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
        int64_t type_id = 0;
        check(TRITONBACKEND_InputBuffer(data.input, i, &buffer, &size, &type, &type_id));
        if (type == TRITONSERVER_MEMORY_GPU)
            throw RequestError("inputs in memory of a GPU are not supported");
        std::memcpy(to, buffer, size);
        if (dtype == LITE_BOOL)
            for (auto& value : std::span(to, size)) value = std::byte(value != std::byte(0));
        to += size;
    }
}

// Writes the rows of one request's outputs that it names.
void write_outputs(const Network& network, const Job& job, int64_t first_row, int64_t all_rows,
                   bool has_rows) {
    uint32_t count = 0;
    check(TRITONBACKEND_RequestOutputCount(job.request, &count));
    for (uint32_t i = 0; i < count; ++i) {
        const char* name = nullptr;
        check(TRITONBACKEND_RequestOutputName(job.request, i, &name));
        const auto found = std::ranges::find(network.outputs(), name, &TensorInfo::name);
        if (found == network.outputs().end()) throw RequestError(std::string("there is no output ") + name);
        const auto index = static_cast<size_t>(found - network.outputs().begin());
        Shape shape = network.output_shape(index);
        if (has_rows && (shape.empty() || shape[0] != all_rows)) {
            throw std::runtime_error(found->name + " has another number of rows than the batch");
        }
        if (has_rows) shape[0] = job.rows;
        const uint64_t size = bytes_of(found->type, shape);
        const uint64_t row = has_rows && job.rows ? size / static_cast<uint64_t>(job.rows) : 0;

        TRITONBACKEND_Output* output = nullptr;
        check(TRITONBACKEND_ResponseOutput(job.response, &output, name,
                                           TRITONSERVER_StringToDataType(name_of(found->type)), shape.data(),
                                           static_cast<uint32_t>(shape.size())));
        void* buffer = nullptr;
        TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
        int64_t type_id = 0;
        check(TRITONBACKEND_OutputBuffer(output, &buffer, size, &type, &type_id));
        if (type == TRITONSERVER_MEMORY_GPU)
            throw RequestError("outputs in memory of a GPU are not supported");
        if (size) std::memcpy(buffer, network.output(index) + row * static_cast<uint64_t>(first_row), size);
    }
}

struct Times {
    uint64_t start, compute_start, compute_end;
};

// Runs requests that fit together; throws if the run fails.
Times run_batch(Instance& instance, std::span<Job* const> batch) {
    Times times{.start = now_ns(), .compute_start = 0, .compute_end = 0};
    Network& network = *instance.network;
    int64_t rows = 0;
    for (const Job* job : batch) rows += job->rows;
    const bool has_rows = instance.model.max_batch() > 0;
    for (size_t i = 0; i < network.inputs().size(); ++i) {
        Shape shape = batch[0]->inputs[i].shape;
        if (has_rows) shape[0] = rows;
        std::byte* to = network.input(i, shape);
        for (const Job* job : batch) {
            copy_input(job->inputs[i], network.inputs()[i].type, to);
            to += job->inputs[i].size;
        }
    }
    times.compute_start = now_ns();
    network.run();
    times.compute_end = now_ns();
    int64_t first_row = 0;
    for (Job* job : batch) {
        job->error = guarded([&] { write_outputs(network, *job, first_row, rows, has_rows); });
        first_row += job->rows;
    }
    return times;
}

// Runs requests together, or one by one if that fails, so that a bad one fails alone.
void run_jobs(TRITONBACKEND_ModelInstance* handle, Instance& instance, std::span<Job* const> batch) {
    Times times{};
    TRITONSERVER_Error* failure = guarded([&] { times = run_batch(instance, batch); });
    if (failure && batch.size() > 1) {
        TRITONSERVER_ErrorDelete(failure);
        for (size_t i = 0; i < batch.size(); ++i) run_jobs(handle, instance, batch.subspan(i, 1));
        return;
    }
    if (failure) batch[0]->error = failure;
    const uint64_t end = now_ns();
    int64_t rows = 0;
    for (const Job* job : batch) {
        rows += job->rows;
        if (TRITONSERVER_Error* error =
                TRITONBACKEND_ModelInstanceReportStatistics(handle, job->request, !job->error, times.start,
                                                            times.compute_start, times.compute_end, end)) {
            TRITONSERVER_ErrorDelete(error);
        }
    }
    if (failure) return;
    if (TRITONSERVER_Error* error = TRITONBACKEND_ModelInstanceReportBatchStatistics(
            handle, static_cast<uint64_t>(rows), times.start, times.compute_start, times.compute_end, end)) {
        TRITONSERVER_ErrorDelete(error);
    }
}

void respond(Job& job) {
    TRITONSERVER_Error* failed = nullptr;
    if (job.response) {
        failed = TRITONBACKEND_ResponseSend(job.response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, job.error);
    }
    if (failed) TRITONSERVER_ErrorDelete(failed);
    if (job.error) TRITONSERVER_ErrorDelete(job.error);
    failed = TRITONBACKEND_RequestRelease(job.request, TRITONSERVER_REQUEST_RELEASE_ALL);
    if (failed) TRITONSERVER_ErrorDelete(failed);
}

void execute(TRITONBACKEND_ModelInstance* handle, Instance& instance,
             std::span<TRITONBACKEND_Request* const> requests) {
    std::vector<Job> jobs(requests.size());
    std::vector<Job*> batch;
    for (size_t i = 0; i < requests.size(); ++i) {
        Job& job = jobs[i];
        job.request = requests[i];
        job.error = guarded([&] {
            check(TRITONBACKEND_ResponseNew(&job.response, job.request));
            read_inputs(instance, job);
        });
        if (job.error) continue;
        if (!batch.empty() && (instance.model.max_batch() == 0 || !fit_together(*batch[0], job))) {
            run_jobs(handle, instance, batch);
            batch.clear();
        }
        batch.push_back(&job);
    }
    if (!batch.empty()) run_jobs(handle, instance, batch);
    for (Job& job : jobs) respond(job);
}

// The text of a message, which is deleted.
std::string text_of(TRITONSERVER_Message* message) {
    const char* text = nullptr;
    size_t size = 0;
    TRITONSERVER_Error* error = TRITONSERVER_MessageSerializeToJson(message, &text, &size);
    std::string copy = error ? "" : std::string(text, size);
    check(TRITONSERVER_MessageDelete(message));
    check(error);
    return copy;
}

void complete_config(TRITONBACKEND_Model* handle, const Model& model) {
    bool is_wanted = false;
    check(TRITONBACKEND_ModelAutoCompleteConfig(handle, &is_wanted));
    if (!is_wanted) return;
    const std::string text = model.config();
    TRITONSERVER_Message* message = nullptr;
    check(TRITONSERVER_MessageNewFromSerializedJson(&message, text.data(), text.size()));
    TRITONSERVER_Error* error = TRITONBACKEND_ModelSetConfig(handle, 1, message);
    check(TRITONSERVER_MessageDelete(message));
    check(error);
}

template <class State, class Handle>
State* state_of(TRITONSERVER_Error* (*get)(Handle*, void**), Handle* handle) {
    void* state = nullptr;
    check(get(handle, &state));
    return static_cast<State*>(state);
}

}  // namespace

}  // namespace mge::triton

using namespace mge::triton;

TRITONSERVER_Error* TRITONBACKEND_Initialize(TRITONBACKEND_Backend*) {
    return guarded([] {
        uint32_t major = 0, minor = 0;
        check(TRITONBACKEND_ApiVersion(&major, &minor));
        if (major != MGE_TRITON_API_MAJOR) {
            throw std::runtime_error("this server has version " + std::to_string(major) +
                                     " of the backend interface, but the mge backend needs version 1");
        }
    });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* handle) {
    return guarded([&] {
        TRITONSERVER_Message* message = nullptr;
        check(TRITONBACKEND_ModelConfig(handle, 1, &message));
        TRITONBACKEND_ArtifactType type;
        const char* repository = nullptr;
        check(TRITONBACKEND_ModelRepository(handle, &type, &repository));
        uint64_t version = 0;
        check(TRITONBACKEND_ModelVersion(handle, &version));
        const std::string folder = std::string(repository) + "/" + std::to_string(version);
        auto model = std::make_unique<Model>(text_of(message), folder);
        complete_config(handle, *model);
        check(TRITONBACKEND_ModelSetState(handle, model.get()));
        model.release();
    });
}

TRITONSERVER_Error* TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model* handle) {
    return guarded([&] { delete state_of<Model>(TRITONBACKEND_ModelState, handle); });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance* handle) {
    return guarded([&] {
        TRITONBACKEND_Model* model_handle = nullptr;
        check(TRITONBACKEND_ModelInstanceModel(handle, &model_handle));
        Model& model = *state_of<Model>(TRITONBACKEND_ModelState, model_handle);
        auto instance = std::make_unique<Instance>(model, model.make_network());
        check(TRITONBACKEND_ModelInstanceSetState(handle, instance.get()));
        instance.release();
    });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance* handle) {
    return guarded([&] { delete state_of<Instance>(TRITONBACKEND_ModelInstanceState, handle); });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* handle,
                                                       TRITONBACKEND_Request** requests, uint32_t count) {
    return guarded([&] {
        execute(handle, *state_of<Instance>(TRITONBACKEND_ModelInstanceState, handle), {requests, count});
    });
}
