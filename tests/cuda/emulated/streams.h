// SPDX-License-Identifier: Apache-2.0
#pragma once
// Streams whose work is done late: some of it when more is asked for, the rest when a caller waits. That of
// several streams is mixed by a seed, in any order that events allow, so what has no event between it and
// what it needs meets it too early or too late for some seed.

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "cuda_runtime_api.h"

namespace mge::cuda::emulated {

using Work = std::function<cudaError_t()>;

// A position in a stream.
struct Point {
    bool is_reached = false;
};

struct Piece {
    Work work;
    std::shared_ptr<const Point> behind;  // the point that must be reached before; null: none
};

// Does what is asked of a stream, some time, or keeps it for the graph that the stream captures. It may be
// done again.
cudaError_t enqueue(cudaStream_t stream, Work work);
cudaError_t enqueue_wait(cudaStream_t stream, std::shared_ptr<const Point> point);

// They come back when the work is done, and give the error of work that failed.
cudaError_t finish(cudaStream_t stream);
void finish(const Point& point);
// For one device; -1: for all.
cudaError_t finish_device(int device);

// Discards failures that were not reported.
void forget_failures();

void add_stream(cudaStream_t stream);
void remove_stream(cudaStream_t stream);

}  // namespace mge::cuda::emulated

struct CUgraph_st {
    std::vector<mge::cuda::emulated::Work> work;
};
struct CUgraphExec_st : CUgraph_st {};
struct CUstream_st {
    int device = 0;
    std::deque<mge::cuda::emulated::Piece> open;
    cudaError_t failure = cudaSuccess;     // error of the work, until a wait reports it
    std::unique_ptr<CUgraph_st> captured;  // null: it captures nothing
    bool is_broken = false;
};
