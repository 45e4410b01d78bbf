// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/cuda/cuda_queue.h"

#include <atomic>
#include <memory>

#include "libmge/device/cuda/host_memory.h"
#include "libmge/device/cuda/last_launches.h"
#include "libmge/device/cuda/peers.h"
#include "libmge/device/cuda/recording_stream.h"
#include "libmge/device/cuda/runtime.h"
#include "libmge/tensor/index_error.h"

namespace mge::cuda {
namespace {

class CudaEvent final : public Event {
public:
    CudaEvent(const CudaQueue& queue, unsigned flags) : CudaEvent(queue, queue.stream(), flags) {}
    // Records on any stream of the queue's device, which must be current.
    CudaEvent(const CudaQueue& queue, cudaStream_t stream, unsigned flags) : queue_(queue) {
        check(cudaEventCreateWithFlags(&event_, flags), "cudaEventCreate");
        // After this line only the branch that destroys the event may throw.
        if (cudaError_t status = cudaEventRecord(event_, stream); status != cudaSuccess) {
            ignore(cudaEventDestroy(event_));
            check(status, "cudaEventRecord");
        }
    }
    ~CudaEvent() override { ignore(cudaEventDestroy(event_)); }
    CudaEvent(const CudaEvent&) = delete;

    void wait() const override {
        use_device(queue_.device());
        check(cudaEventSynchronize(event_), "cudaEventSynchronize");
        queue_.throw_index_fault();
    }
    double milliseconds_since(const Event& earlier) const override {
        wait();
        float passed = 0;
        check(cudaEventElapsedTime(&passed, dynamic_cast<const CudaEvent&>(earlier).event_, event_),
              "cudaEventElapsedTime");
        return double(passed);
    }
    cudaEvent_t get() const { return event_; }

private:
    const CudaQueue& queue_;  // never destroyed
    cudaEvent_t event_ = nullptr;
};

}  // namespace

CudaQueue::CudaQueue(BlockPool& memory, int device, int number)
    : memory_(memory), device_(device), number_(number) {
    use_device(device_);
    void* fault = nullptr;
    check(cudaHostAlloc(&fault, sizeof(IndexFault), cudaHostAllocPortable), "cudaHostAlloc");
    fault_ = std::construct_at(static_cast<IndexFault*>(fault));
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
}

cudaStream_t CudaQueue::stream() const {
    use_device(device_);
    cudaStream_t recording = recording_stream(*this);
    return recording ? recording : stream_;
}

// A recording cannot allocate: its block would be free, and perhaps in use elsewhere, when it is replayed.
StorageRef CudaQueue::allocate(size_t bytes) {
    refuse_recording();
    return memory_.allocate(bytes, number_);
}

// A recording cannot read host memory, which may change before the replay.
void CudaQueue::copy_from_host(void* target, const void* source, size_t bytes) {
    if (!bytes) return;
    refuse_recording();
    check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyHostToDevice, stream()), "cudaMemcpyAsync");
    // CUDA copies pageable memory to a staging buffer before the call returns.
    if (is_read_in_place(source)) wait();
}

void CudaQueue::copy_to_host(void* target, const void* source, size_t bytes) {
    if (!bytes) return wait();
    refuse_recording();
    check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToHost, stream()), "cudaMemcpyAsync");
    wait();
}

void CudaQueue::copy(void* target, const void* source, size_t bytes) {
    if (!bytes) return;
    note_launch();
    int owner = owner_of(source, device_);
    if (owner == device_)
        return check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, stream()), "cudaMemcpyAsync");
    open_peer(device_, owner);
    check(cudaMemcpyPeerAsync(target, device_, source, owner, bytes, stream()), "cudaMemcpyPeerAsync");
}

void CudaQueue::fill(void* target, int byte, size_t bytes) {
    if (!bytes) return;
    note_launch();
    check(cudaMemsetAsync(target, byte, bytes, stream()), "cudaMemsetAsync");
}

std::shared_ptr<const Event> CudaQueue::record() {
    refuse_recording();
    return std::make_shared<CudaEvent>(*this, cudaEventDisableTiming);
}

std::shared_ptr<const Event> CudaQueue::record_time() {
    refuse_recording();
    return std::make_shared<CudaEvent>(*this, cudaEventDefault);
}

void CudaQueue::wait_for(const Event& event) {
    refuse_recording();
    if (auto* own = dynamic_cast<const CudaEvent*>(&event))
        check(cudaStreamWaitEvent(stream(), own->get(), 0), "cudaStreamWaitEvent");
    else
        event.wait();
}

void CudaQueue::wait() {
    refuse_recording();
    check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
    throw_index_fault();
}

std::unique_ptr<const Recording> CudaQueue::record_work(const std::function<void()>& enqueue) {
    use_device(device_);
    return record_graph(*this, enqueue);
}

// During a recording, work of other libraries on this stream would run at once, and again in each run.
uintptr_t CudaQueue::stream_address() {
    refuse_recording();
    return reinterpret_cast<uintptr_t>(stream_);
}

void CudaQueue::let_wait(uintptr_t stream) {
    refuse_recording();
    CudaEvent done(*this, cudaEventDisableTiming);
    check(cudaStreamWaitEvent(reinterpret_cast<cudaStream_t>(stream), done.get(), 0), "cudaStreamWaitEvent");
}

void CudaQueue::wait_for_stream(uintptr_t stream) {
    refuse_recording();
    use_device(device_);
    wait_for(CudaEvent(*this, reinterpret_cast<cudaStream_t>(stream), cudaEventDisableTiming));
}

// May be called during destruction or in a child of fork(), so they must not throw.
void CudaQueue::finish() noexcept { ignore(cudaStreamSynchronize(stream_)); }
void CudaQueue::finish_device() noexcept {
    ignore(cudaSetDevice(device_));
    ignore(cudaDeviceSynchronize());
}

void CudaQueue::throw_index_fault() const {
    std::atomic_ref state(fault_->state);
    if (state.load() != IndexFault::complete) [[likely]]
        return;
    IndexFault found = *fault_;
    // Only one of several waiting threads throws it.
    if (state.exchange(IndexFault::none) == IndexFault::complete)
        throw_index(found.op, found.axis, found.index, found.extent);
}

}  // namespace mge::cuda
