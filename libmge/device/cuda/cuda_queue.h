// SPDX-License-Identifier: Apache-2.0
#pragma once
// The queue of a GPU: a non-blocking CUDA stream, which does not synchronise with the default stream.

#include <cuda_runtime_api.h>

#include "libmge/device/cuda/block_pool.h"
#include "libmge/device/cuda/index_fault.h"
#include "libmge/device/queue.h"
#include "libmge/device/recording.h"
#include "libmge/device/stream_sharing.h"

namespace mge::cuda {

class CudaQueue final : public Queue, public RecordingQueue, public StreamSharingQueue {
public:
    CudaQueue(BlockPool& memory, int device, int number);

    StorageRef allocate(size_t bytes) override;
    void copy_from_host(void* target, const void* source, size_t bytes) override;
    void copy_to_host(void* target, const void* source, size_t bytes) override;
    void copy(void* target, const void* source, size_t bytes) override;
    void fill(void* target, int byte, size_t bytes) override;
    std::shared_ptr<const Event> record() override;
    std::shared_ptr<const Event> record_time() override;
    void wait_for(const Event& event) override;
    void wait() override;
    std::unique_ptr<const Recording> record_work(const std::function<void()>& enqueue) override;
    uintptr_t stream_address() override;
    void let_wait(uintptr_t stream) override;
    void wait_for_stream(uintptr_t stream) override;
    void finish() noexcept override;
    void finish_device() noexcept override;

    // The stream for launches: that of the calling thread's recording, if any, else the queue's own. Makes
    // the queue's device current.
    cudaStream_t stream() const;
    int device() const { return device_; }

    // Kernels report an out-of-range index in index_fault(). After a wait, throw_index_fault() throws and
    // clears it.
    IndexFault* index_fault() const { return fault_; }
    void throw_index_fault() const;

private:
    BlockPool& memory_;
    const int device_, number_;
    cudaStream_t stream_ = nullptr;
    IndexFault* fault_ = nullptr;
};

}  // namespace mge::cuda
