// SPDX-License-Identifier: Apache-2.0
#pragma once
// Streams whose work is done late: some of it when more is asked for, the rest when somebody waits. That of
// several streams is mixed by a seed, in any order that events allow, so what has no event between it and
// what it needs meets it too early or too late for some seed.

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "cuda_runtime_api.h"

namespace mge::cuda::emulated {

using Work = std::function<cudaError_t()>;

// Where a stream has got to.
struct Point {
    bool is_reached = false;
};

struct Piece {
    Work work;
    std::shared_ptr<const Point> behind;  // what has to be reached before; null: nothing
};

// Does what is asked of a stream, some time, or keeps it for the graph that the stream captures. It may be
// done again.
cudaError_t ask(cudaStream_t stream, Work work);
cudaError_t ask_to_wait(cudaStream_t stream, std::shared_ptr<const Point> point);

// They come back when the work is done, and give the error of work that failed.
cudaError_t finish(cudaStream_t stream);
void finish(const Point& point);
// Of one device; -1: of all.
cudaError_t finish_device(int device);

// Nobody is told any more.
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
    cudaError_t failure = cudaSuccess;     // of work, until somebody waits
    std::unique_ptr<CUgraph_st> captured;  // null: it captures nothing
    bool is_broken = false;
};
