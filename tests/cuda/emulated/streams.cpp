// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulated/streams.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <random>
#include <utility>

#include "tests/cuda/emulated/memory.h"

namespace mge::cuda::emulated {
namespace {

// All streams; whoever waits or asks does work of any of them.
struct Streams {
    std::mutex mutex;
    std::vector<cudaStream_t> all;
    std::minstd_rand random{1};
};

Streams& streams() {
    static Streams& one = *std::make_unique<Streams>().release();
    return one;
}

bool can_go_on(const CUstream_st& stream) {
    return !stream.open.empty() && (!stream.open.front().behind || stream.open.front().behind->is_reached);
}

// The next piece of any stream that can go on; false when none can.
bool do_any_piece() {
    auto& s = streams();
    size_t able = size_t(std::ranges::count_if(s.all, [](auto* stream) { return can_go_on(*stream); }));
    if (able == 0) return false;
    size_t chosen = s.random() % able;
    for (auto* stream : s.all) {
        if (!can_go_on(*stream) || chosen-- > 0) continue;
        Piece piece = std::move(stream->open.front());
        stream->open.pop_front();
        cudaError_t error = piece.work ? piece.work() : cudaSuccess;
        if (stream->failure == cudaSuccess) stream->failure = error;
        break;
    }
    return true;
}

// An event is recorded before any stream can wait for it, so one stream can always continue.
template <class Condition>
void work_until(Condition is_done) {
    if (is_done()) return;
    OpenMemory open;
    while (!is_done() && do_any_piece()) {
    }
}

// The device may be busy with others, or have time for more than was asked.
void do_some() {
    constexpr unsigned most = 3;
    auto& random = streams().random;
    unsigned pieces = random() % 2 ? random() % (most + 1) : 0;
    if (pieces == 0) return;
    OpenMemory open;
    while (pieces-- > 0 && do_any_piece()) {
    }
}

cudaError_t add(cudaStream_t stream, Piece piece) {
    std::lock_guard lock(streams().mutex);
    stream->open.push_back(std::move(piece));
    do_some();
    return lasting_error();
}

cudaError_t take_failure(CUstream_st& stream) {
    cudaError_t failure = std::exchange(stream.failure, cudaSuccess);
    return failure != cudaSuccess ? failure : begin_call();
}

}  // namespace

cudaError_t enqueue(cudaStream_t stream, Work work) {
    if (!stream->captured) return add(stream, {std::move(work), nullptr});
    stream->captured->work.push_back(std::move(work));
    return begin_call();
}

cudaError_t enqueue_wait(cudaStream_t stream, std::shared_ptr<const Point> point) {
    return add(stream, {nullptr, std::move(point)});
}

cudaError_t finish(cudaStream_t stream) {
    std::lock_guard lock(streams().mutex);
    work_until([&] { return stream->open.empty(); });
    return take_failure(*stream);
}

void finish(const Point& point) {
    std::lock_guard lock(streams().mutex);
    work_until([&] { return point.is_reached; });
}

cudaError_t finish_device(int device) {
    auto& s = streams();
    std::lock_guard lock(s.mutex);
    auto is_meant = [&](auto* stream) { return device < 0 || stream->device == device; };
    work_until([&] {
        return std::ranges::all_of(s.all, [&](auto* each) { return !is_meant(each) || each->open.empty(); });
    });
    cudaError_t failure = cudaSuccess;
    for (auto* stream : s.all)
        if (is_meant(stream) && failure == cudaSuccess) failure = std::exchange(stream->failure, cudaSuccess);
    return failure != cudaSuccess ? failure : begin_call();
}

void forget_failures() {
    std::lock_guard lock(streams().mutex);
    for (auto* stream : streams().all) stream->failure = cudaSuccess;
}

void add_stream(cudaStream_t stream) {
    std::lock_guard lock(streams().mutex);
    streams().all.push_back(stream);
}

void remove_stream(cudaStream_t stream) {
    std::lock_guard lock(streams().mutex);
    work_until([&] { return stream->open.empty(); });
    std::erase(streams().all, stream);
}

void mix_streams(unsigned seed) {
    std::lock_guard lock(streams().mutex);
    streams().random.seed(seed + 1);
}

}  // namespace mge::cuda::emulated
