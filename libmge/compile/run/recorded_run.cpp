// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/run/recorded_run.h"

#include <algorithm>
#include <utility>

#include "libmge/device/work_origin.h"

namespace mge {
namespace {

// Limits: a copy costs about as much as a step without a recording.
constexpr size_t most_copied_bytes = size_t(1) << 20;
constexpr ptrdiff_t most_copies = 8;
// Covers memory that is used in turns, such as batches prepared in advance.
constexpr size_t most_kept = 4;
// Gives up on addresses that keep changing.
constexpr int most_made = 16;

}  // namespace

class RecordedRun::Origin final : public WorkOrigin {
public:
    explicit Origin(std::string text) : text_(std::move(text)) {}
    std::string text() const override { return text_; }

private:
    std::string text_;
};

RecordedRun::RecordedRun(Queue& queue, RecordingQueue& recorder, std::vector<Port> ports, std::string text)
    : queue_(queue),
      recorder_(recorder),
      ports_(std::move(ports)),
      varies_(ports_.size()),
      held_(ports_.size()),
      left_(most_made),
      origin_(std::make_shared<Origin>(std::move(text))) {}

RecordedRun::~RecordedRun() = default;

// Compares addresses, except those of copied ports.
bool RecordedRun::are_alike(const Addresses& a, const Addresses& b, const IsCopied& is_copied) {
    for (size_t i = 0; i < a.size(); ++i)
        if (a[i] != b[i] && !is_copied[i]) return false;
    return true;
}

bool RecordedRun::replay(const Addresses& data, uint64_t arenas) {
    if (arenas_ != arenas) return false;
    auto kept =
        std::ranges::find_if(kept_, [&](auto& each) { return are_alike(data, each.at, each.is_copied); });
    if (kept == kept_.end()) return false;
    WorkOriginScope scope(origin_);
    copy_ports(*kept, data, false);
    kept->recording->replay();
    copy_ports(*kept, data, true);
    return true;
}

void RecordedRun::copy_ports(const Kept& kept, const Addresses& data, bool are_outputs) {
    for (size_t i = 0; i < ports_.size(); ++i) {
        if (ports_[i].is_output != are_outputs || data[i] == kept.at[i]) continue;
        queue_.copy(are_outputs ? data[i] : kept.at[i], are_outputs ? kept.at[i] : data[i], ports_[i].bytes);
    }
}

void RecordedRun::note_run(const Addresses& data, uint64_t arenas, const Steps& steps) {
    if (std::exchange(arenas_, arenas) != arenas) kept_.clear();
    if (!left_) return;
    note_places(data);
    IsCopied is_copied = copied_ports();
    if (was_seen(data, is_copied)) record(data, std::move(is_copied), steps);
    if (seen_.size() == most_kept) seen_.erase(seen_.begin());
    seen_.push_back(data);
}

void RecordedRun::note_places(const Addresses& data) {
    if (seen_.empty()) return;
    for (size_t i = 0; i < ports_.size(); ++i)
        if (data[i] != seen_.back()[i]) varies_[i] = true;
}

RecordedRun::IsCopied RecordedRun::copied_ports() const {
    IsCopied is_copied(ports_.size());
    const bool are_few = std::ranges::count(varies_, true) <= most_copies;
    for (size_t i = 0; i < ports_.size(); ++i)
        is_copied[i] = ports_[i].own || (are_few && varies_[i] && ports_[i].bytes <= most_copied_bytes);
    return is_copied;
}

// True if an earlier run had the same addresses, or if all ports have addresses of their own.
bool RecordedRun::was_seen(const Addresses& data, const IsCopied& is_copied) const {
    if (std::ranges::all_of(ports_, [](auto& port) { return bool(port.own); })) return true;
    return std::ranges::any_of(seen_, [&](auto& earlier) { return are_alike(data, earlier, is_copied); });
}

void RecordedRun::record(const Addresses& data, IsCopied is_copied, const Steps& steps) {
    Kept made{data, std::move(is_copied), nullptr};
    for (size_t i = 0; i < ports_.size(); ++i) {
        if (!made.is_copied[i]) continue;
        if (!ports_[i].own && !held_[i]) held_[i] = queue_.allocate(ports_[i].bytes);
        made.at[i] = ports_[i].own ? ports_[i].own : held_[i]->data;
    }
    auto point_all = [&](const Addresses& at) {
        for (size_t i = 0; i < at.size(); ++i) steps.point(i, at[i]);
    };
    WorkOriginScope scope(origin_);
    point_all(made.at);
    try {
        made.recording = recorder_.record_work(steps.enqueue);
    } catch (...) {
        point_all(data);
        throw;
    }
    point_all(data);
    if (!made.recording) {
        kept_.clear();
        left_ = 0;
        return;
    }
    --left_;
    if (kept_.size() == most_kept) kept_.erase(kept_.begin());
    kept_.push_back(std::move(made));
}

}  // namespace mge
