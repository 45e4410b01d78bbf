// SPDX-License-Identifier: Apache-2.0
// Memory is tracked through its release function: while a recording tracks a storage, our function replaces
// it, records the time and calls the original.

#include "libmge/inspect/operator_recorder.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "libmge/base/threads/at_fork.h"
#include "libmge/device/device.h"
#include "libmge/inspect/profile/step_clock.h"

namespace mge {
namespace {

int64_t nanoseconds(std::chrono::steady_clock::time_point time) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

// The device whose queue does the work.
DeviceId place_of(const OperatorRun& run) {
    for (auto& output : run.outputs)
        if (output && !output.device().is_host()) return output.device();
    return run.device;
}

}  // namespace

OperatorRecorder& operator_recorder() {
    static auto& recorder = *std::make_unique<OperatorRecorder>().release();
    return recorder;
}

namespace {
const HeldAcrossFork recorder_at_fork([]() -> auto& { return operator_recorder().mutex(); });
}

void OperatorRecorder::start() {
    {
        std::lock_guard lock(mutex_);
        recording_ = {};
        late_.clear();
        busy_until_.clear();
        ++recordings_;
        is_recording_ = true;
    }
    observe_operators(this);
}

OperatorRecording OperatorRecorder::stop() {
    observe_operators(nullptr);
    OperatorRecording recording;
    std::deque<Late> late;
    std::map<uint64_t, int64_t> busy_until;
    {
        std::lock_guard lock(mutex_);
        is_recording_ = false;
        recording = std::exchange(recording_, {});
        late.swap(late_);
        busy_until.swap(busy_until_);
    }
    read(late, late.size(), recording, busy_until);
    return recording;
}

void OperatorRecorder::read(std::deque<Late>& late, size_t count, OperatorRecording& recording,
                            std::map<uint64_t, int64_t>& busy_until) {
    for (; count > 0; --count) {
        Late next = std::move(late.front());
        late.pop_front();
        auto& ran = recording.operators[next.number];
        int64_t& busy = busy_until[next.queue.hash()];
        ran.device_begin = std::max(ran.begin, busy);
        ran.device_end = busy = ran.device_begin + nanoseconds_between(*next.begin, *next.end);
    }
}

void OperatorRecorder::ran(const OperatorRun& run) {
    RecordedOperator recorded{.name = run.op.name,
                              .device = run.device,
                              .thread = gettid(),
                              .begin = nanoseconds(run.begin),
                              .end = nanoseconds(run.end),
                              .device_begin = nanoseconds(run.begin),
                              .device_end = nanoseconds(run.end),
                              .allocated = device(run.device).memory().allocated,
                              .inputs = specs_of(run.inputs),
                              .outputs = specs_of(run.outputs)};
    std::lock_guard lock(mutex_);
    if (!is_recording_) return;
    size_t number = recording_.operators.size();
    recording_.operators.push_back(std::move(recorded));
    if (run.device_end) {
        if (late_.size() >= most_spans) read(late_, most_spans / 2, recording_, busy_until_);
        late_.push_back({number, place_of(run), run.device_begin, run.device_end});
    }
    for (auto& output : run.outputs)
        if (output) watch(output, number, nanoseconds(run.end));
}

// A storage that is tracked already was overwritten in place: it stays alive.
void OperatorRecorder::watch(const Tensor& output, size_t made_by, int64_t now) {
    Storage* storage = output.impl()->storage.get();
    if (!storage || storage->bytes == 0 || storage->release == &note_release) return;
    watched_[storage] = {storage->release, recordings_, recording_.blocks.size()};
    storage->release = &note_release;
    recording_.blocks.push_back({.made_by = made_by,
                                 .spec = output.spec(),
                                 .address = reinterpret_cast<uintptr_t>(storage->data),
                                 .bytes = storage->bytes,
                                 .produced = now});
}

void OperatorRecorder::note_release(Storage* storage) {
    OperatorRecorder& self = operator_recorder();
    {
        std::lock_guard lock(self.mutex_);
        auto it = self.watched_.find(storage);
        Watched watched = it->second;
        self.watched_.erase(it);
        storage->release = watched.release;
        if (self.is_recording_ && watched.recording == self.recordings_)
            self.recording_.blocks[watched.block].erased = nanoseconds(std::chrono::steady_clock::now());
    }
    storage->release(storage);
}

}  // namespace mge
