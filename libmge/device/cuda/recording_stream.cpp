// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/cuda/recording_stream.h"

#include <exception>

#include "libmge/base/rethrow.h"
#include "libmge/device/cuda/cuda_queue.h"
#include "libmge/device/cuda/last_launches.h"
#include "libmge/device/cuda/runtime.h"

namespace mge::cuda {
namespace {

// Passes through the recorded code and is caught in record_graph().
struct NotRecordable : ThrownAsIs {};

struct RecordingThread {
    const CudaQueue* queue = nullptr;
    cudaStream_t stream = nullptr;
};
thread_local RecordingThread recording;

class CudaRecording final : public Recording {
public:
    CudaRecording(const CudaQueue& queue, cudaGraphExec_t graph) : queue_(queue), graph_(graph) {}
    ~CudaRecording() override { ignore(cudaGraphExecDestroy(graph_)); }
    CudaRecording(const CudaRecording&) = delete;

    void replay() const override {
        note_launch();
        check(cudaGraphLaunch(graph_, queue_.stream()), "cudaGraphLaunch");
    }

private:
    const CudaQueue& queue_;  // never destroyed
    cudaGraphExec_t graph_;
};

// Puts the calling thread into recording mode until end() or the end of the scope.
class Capture {
public:
    explicit Capture(const CudaQueue& queue) {
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
        if (cudaError_t status = cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
            status != cudaSuccess) {
            ignore(cudaStreamDestroy(stream_));
            check(status, "cudaStreamBeginCapture");
        }
        recording = {&queue, stream_};
    }
    ~Capture() {
        end();
        if (graph_) ignore(cudaGraphDestroy(graph_));
        ignore(cudaStreamDestroy(stream_));
    }
    Capture(const Capture&) = delete;

    // Returns false if the work contained a call that a graph cannot hold.
    bool end() {
        if (!recording.queue) return graph_;
        recording = {};
        bool is_whole = cudaStreamEndCapture(stream_, &graph_) == cudaSuccess;
        if (!is_whole) ignore(cudaGetLastError());
        return is_whole && graph_;
    }
    cudaGraph_t graph() const { return graph_; }

private:
    cudaStream_t stream_ = nullptr;
    cudaGraph_t graph_ = nullptr;
};

}  // namespace

cudaStream_t recording_stream(const CudaQueue& queue) {
    if (recording.queue && recording.queue != &queue) throw NotRecordable{};
    return recording.stream;
}

void refuse_recording() {
    if (recording.queue) throw NotRecordable{};
}

std::unique_ptr<const Recording> record_graph(const CudaQueue& queue, const std::function<void()>& enqueue) {
    refuse_recording();
    Capture capture(queue);
    std::exception_ptr failure;
    try {
        enqueue();
    } catch (const NotRecordable&) {
        return nullptr;
    } catch (...) {
        failure = std::current_exception();
    }
    // A library that invalidates the capture makes later calls fail, too: not an error of `enqueue`.
    if (!capture.end()) return nullptr;
    if (failure) std::rethrow_exception(failure);
    cudaGraphExec_t graph = nullptr;
    check(cudaGraphInstantiate(&graph, capture.graph(), 0), "cudaGraphInstantiate");
    try {
        return std::make_unique<CudaRecording>(queue, graph);
    } catch (...) {
        ignore(cudaGraphExecDestroy(graph));
        throw;
    }
}

}  // namespace mge::cuda
