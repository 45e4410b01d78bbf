// SPDX-License-Identifier: Apache-2.0
#pragma once
// Recordings are CUDA graphs. They are captured on a separate stream: on the queue's own stream, work of
// other threads would be captured, too.

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>

#include "libmge/device/recording.h"

namespace mge::cuda {

class CudaQueue;

// Returns the stream that captures the calling thread's work on this queue, or nullptr if it is not
// recording. Work on another queue ends the recording as not recordable.
cudaStream_t recording_stream(const CudaQueue& queue);
// Ends the calling thread's recording, if any, as not recordable.
void refuse_recording();

// Implements RecordingQueue::record_work(). The queue's device must be current.
std::unique_ptr<const Recording> record_graph(const CudaQueue& queue, const std::function<void()>& enqueue);

}  // namespace mge::cuda
