// SPDX-License-Identifier: Apache-2.0
#pragma once
// Recordings are graphs of CUDA's. They are captured on a stream of their own, since what other threads ask
// of a queue's stream meanwhile would become a part of them.

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>

#include "libmge/device/recording.h"

namespace mge::cuda {

class CudaQueue;

// Where the calling thread records what it asks of this queue; null when it does not. What it asks of other
// queues meanwhile cannot be kept.
cudaStream_t recording_stream(const CudaQueue& queue);
// Ends a recording of the calling thread, if there is one: what comes now cannot be kept.
void refuse_recording();

// As RecordingQueue says; the device is the calling thread's.
std::unique_ptr<const Recording> record_graph(const CudaQueue& queue, const std::function<void()>& ask);

}  // namespace mge::cuda
