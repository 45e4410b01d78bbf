// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/recorded_run.h"

#include <utility>

#include "libmge/device/work_origin.h"

namespace mge {

class RecordedRun::Origin final : public WorkOrigin {
public:
    explicit Origin(std::string text) : text_(std::move(text)) {}
    std::string text() const override { return text_; }

private:
    std::string text_;
};

RecordedRun::RecordedRun(Queue& queue, std::vector<Port> ports, std::string text)
    : queue_(queue),
      recorder_(dynamic_cast<RecordingQueue*>(&queue)),
      ports_(std::move(ports)),
      held_(ports_.size()),
      origin_(std::make_shared<Origin>(std::move(text))) {}

RecordedRun::~RecordedRun() = default;

bool RecordedRun::run(const std::vector<void*>& data, uint64_t arenas, const Steps& steps) {
    if (!recorder_ || !std::exchange(has_run_, true)) return false;
    WorkOriginScope scope(origin_);
    if (!recording_ || arenas_ != arenas) {
        record(data, steps);
        arenas_ = arenas;
    }
    if (!recording_) return false;
    auto copy_ports = [&](bool are_outputs) {
        for (size_t i = 0; i < ports_.size(); ++i) {
            if (ports_[i].is_output != are_outputs || data[i] == fixed_[i]) continue;
            queue_.copy(are_outputs ? data[i] : fixed_[i], are_outputs ? fixed_[i] : data[i],
                        ports_[i].bytes);
        }
    };
    copy_ports(false);
    recording_->replay();
    copy_ports(true);
    return true;
}

void RecordedRun::record(const std::vector<void*>& data, const Steps& steps) {
    recording_ = {};
    fixed_.clear();
    for (size_t i = 0; i < ports_.size(); ++i) {
        if (!ports_[i].own && !held_[i]) held_[i] = queue_.allocate(ports_[i].bytes);
        fixed_.push_back(ports_[i].own ? ports_[i].own : held_[i]->data);
    }
    auto point_all = [&](const std::vector<void*>& at) {
        for (size_t i = 0; i < at.size(); ++i) steps.point(i, at[i]);
    };
    point_all(fixed_);
    try {
        recording_ = recorder_->record_work(steps.ask);
    } catch (...) {
        point_all(data);
        throw;
    }
    point_all(data);
    if (!recording_) recorder_ = nullptr;
}

}  // namespace mge
