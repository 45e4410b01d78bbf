// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/profile/profiler.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "libmge/base/error.h"
#include "libmge/base/threads/threads.h"
#include "libmge/base/utc_time.h"
#include "libmge/base/version.h"
#include "libmge/compile/run/inside.h"
#include "libmge/device/cpu/cpu_device.h"
#include "libmge/device/cpu/library_versions.h"
#include "libmge/device/device.h"
#include "libmge/graph/origins.h"
#include "libmge/inspect/profile/step_clock.h"

namespace mge {
namespace {

// By step; null if the device's own clock provides the end.
std::vector<Queue*> queues_to_wait_for(const Program& program) {
    std::vector<Queue*> queues;
    for (size_t i = 0; i < program.steps().size(); ++i) {
        auto& queue = queue_of(place_of_work(program, i));
        queues.push_back(queue.record_time() ? nullptr : &queue);
    }
    return queues;
}

void wait_for(std::span<Queue* const> queues) {
    for (auto* queue : queues)
        if (queue) queue->wait();
}

}  // namespace

// Inner runs, by path and program: a step may have several, of several shapes.
struct Profiler::InnerTimes {
    using Key = std::pair<std::string, std::shared_ptr<const Program>>;
    std::map<Key, std::unique_ptr<Inner>> by_place;
    std::vector<const Inner*> in_order;
    LateSums late;
    bool waits;

    Inner& at(const std::string& path, size_t step, Context& inner);
};

class Profiler::Inner final : public StepObserver {
public:
    Inner(InnerTimes& all, std::string path, size_t step, const Program& program)
        : all_(all),
          path_(std::move(path)),
          step_(step),
          program_(program),
          clock_(program),
          times_(program.steps().size()) {
        if (all.waits) queues_ = queues_to_wait_for(program);
    }

    void before_run(Context&) override {
        last_ = now();
        clock_.begin_run();
    }
    void before_step(size_t step, Context&) override { begin_ = clock_.begin(step, false); }
    void after_step(size_t step, Context&) override {
        if (!queues_.empty() && queues_[step]) queues_[step]->wait();
        auto& [count, total] = times_[step];
        ++count;
        int64_t time = now();
        if (auto end = clock_.end(step))
            all_.late.add(total, std::move(begin_), std::move(end));
        else
            total += time - last_;
        last_ = time;
    }
    StepObserver* inside(const InnerRun& run, Context& inner) override {
        return &all_.at(path_ + path_inside(run, false), step_, inner);
    }
    void add_to(std::vector<ProfileInnerStep>& steps) const {
        for (size_t i = 0; i < times_.size(); ++i) {
            auto& report = program_.steps()[i];
            if (times_[i].count)
                steps.push_back({int(step_), path_ + report.name, report.op, report.algorithm,
                                 times_[i].count, times_[i].total});
        }
    }

private:
    struct Times {
        int64_t count = 0, total = 0;
    };
    InnerTimes& all_;
    std::string path_;
    size_t step_;
    const Program& program_;
    StepClock clock_;
    QueuePoint begin_;  // start of the current step, if it is a late one
    std::vector<Queue*> queues_;
    std::vector<Times> times_;
    int64_t last_ = 0;
};

Profiler::Inner& Profiler::InnerTimes::at(const std::string& path, size_t step, Context& inner) {
    auto& place = by_place[{path, inner.program().shared_from_this()}];
    if (!place) {
        place = std::make_unique<Inner>(*this, path, step, inner.program());
        in_order.push_back(place.get());
    }
    return *place;
}

Profiler::~Profiler() = default;

StepObserver* Profiler::inside(const InnerRun& run, Context& inner) {
    if (runs_ <= warm_up_runs_) return nullptr;
    return &inner_->at(path_inside(run, false), run.step, inner);
}

std::vector<ProfileInnerStep> Profiler::inner_steps() const {
    inner_->late.read_all();
    std::vector<ProfileInnerStep> steps;
    for (auto* inner : inner_->in_order) inner->add_to(steps);
    return steps;
}

// Queue points are expensive.
constexpr size_t most_points = 1 << 15;

Profiler::Profiler(const Program& program, const ProfilerOptions& options)
    : steps_(program.steps().size()),
      dispatch_(options.dispatch),
      late_(std::make_unique<LateRuns>(program, most_points / (2 * program.steps().size() + 1) + 1)),
      host_size_(1 + steps_ * (dispatch_ ? 2 : 1)),
      warm_up_runs_(options.warm_up_runs),
      inner_(std::make_unique<InnerTimes>()) {
    if (late_->is_empty()) late_ = nullptr;
    run_size_ = host_size_ + (late_ ? 2 * steps_ : 0);
    capacity_ = std::max<size_t>(1, options.memory / (run_size_ * sizeof(int64_t)));
    // Written, not only reserved: the runs meet no page fault.
    buffer_.assign(run_size_ * capacity_, 0);
    inner_->waits = options.waits;
    if (options.waits) queues_ = queues_to_wait_for(program);
}

void Profiler::begin_run() {
    wait_for(queues_);
    int64_t* start = buffer_.data() + size_t(runs_++) % capacity_ * run_size_;
    // Marks the run as incomplete until its last step overwrites it.
    start[host_size_ - 1] = 0;
    // Times of earlier runs are read before this one begins.
    if (late_) late_->limit_runs(start + host_size_);
    *start = now();
    next_ = start + 1;
    if (dispatch_) *next_++ = *start;
    if (late_) late_->begin_run(start + host_size_, *start);
}

void Profiler::begin_late(size_t step) { late_->before(step, dispatch_); }
void Profiler::end_late(size_t step) { late_->after(step); }

std::vector<const int64_t*> Profiler::kept() const {
    std::vector<const int64_t*> places;
    for (int64_t run = std::max<int64_t>(0, runs_ - int64_t(capacity_)); run < runs_; ++run) {
        const int64_t* place = buffer_.data() + size_t(run) % capacity_ * run_size_;
        if (place[host_size_ - 1] != 0) places.push_back(place);
    }
    return places;
}

std::optional<int64_t> Profiler::first_start() const {
    auto places = kept();
    return places.empty() ? std::nullopt : std::optional(*places.front());
}

// Steps that are not late have the host's times as device times.
void Profiler::add_late(ProfileRun& run, const int64_t* place) const {
    ProfileRun late{.thread = run.thread, .start = run.start, .is_late = true};
    for (size_t i = 0; i < steps_; ++i) {
        const int64_t* times = place + host_size_ + 2 * i;
        bool is_late = late_->is_late(i);
        late.begins.push_back(is_late ? times[0] - *place : run.begin(i));
        late.ends.push_back(is_late ? times[1] - *place : run.ends[i]);
    }
    if (dispatch_) {
        late.host_begins = std::move(run.begins);
        late.host_ends = std::move(run.ends);
    }
    run = std::move(late);
}

std::vector<ProfileRun> Profiler::runs(int64_t origin) const {
    if (late_) late_->read_all();
    std::vector<ProfileRun> runs;
    for (const int64_t* place : kept()) {
        ProfileRun run;
        run.start = *place - origin;
        for (size_t i = 0; i < steps_; ++i) {
            const int64_t* times = place + 1 + i * (dispatch_ ? 2 : 1);
            if (dispatch_) run.begins.push_back(*times++ - *place);
            run.ends.push_back(*times - *place);
        }
        if (late_) add_late(run, place);
        runs.push_back(std::move(run));
    }
    return runs;
}

namespace {

ProfileStep step_of(const Program& program, size_t index) {
    auto& report = program.steps()[index];
    ProfileStep step;
    step.id = std::to_string(index);
    step.name = report.name;
    step.type = report.op;
    step.algorithm = report.algorithm;
    step.device = physical_name(place_of_work(program, index));
    step.choice = std::string(name_of(report.source));
    step.sources = labels(report.sources);
    for (auto& source : report.sources) step.origins.push_back(source.id);
    step.inputs = report.inputs;
    step.outputs = report.outputs;
    step.operations = report.footprint.operations;
    step.bytes = report.footprint.bytes;
    step.workspace = int64_t(report.workspace);
    if (report.workspace) step.workspace_offset = int64_t(report.workspace_offset);
    return step;
}

ProfileValue value_of(const Program& program, const ValueReport& report, size_t index) {
    ProfileValue value;
    value.id = std::to_string(index);
    value.name = report.name;
    value.dtype = std::string(name_of(report.spec.dtype));
    value.layout = report.spec.layout.name();
    value.device = physical_name(report.device);
    if (auto& shape = report.spec.shape; shape.is_known()) value.shape = Extents(shape.begin(), shape.end());
    value.place = std::string(name_of(report.place));
    bool is_in_arena = report.place == ValueReport::Place::arena;
    value.offset = is_in_arena ? int64_t(report.offset) : 0;
    value.bytes = int64_t(report.bytes);
    value.first_step = report.first;
    value.last_step = std::max(report.first, report.last);
    value.view_of = report.view_of;
    if (report.view_of != no_value && !report.origins.empty())
        value.view_type = program.sources()[size_t(report.origins[0].node)].op;
    return value;
}

// Several values may share one memory block, whose bytes are counted for the first of them.
void count_memory_once(std::vector<ProfileValue>& values) {
    std::set<std::tuple<int64_t, int, int>> pieces;
    for (auto& value : values)
        if (value.place == "arena" && !pieces.emplace(value.offset, value.first_step, value.last_step).second)
            value.bytes = 0;
}

}  // namespace

namespace {

// The host is listed separately.
std::vector<ProfileDevice> devices_of(const Program& program) {
    std::vector<ProfileDevice> devices;
    for (size_t i = 0; i < program.steps().size(); ++i) {
        DeviceId id = place_of_work(program, i);
        if (id.is_host()) continue;
        std::string name = physical_name(id);
        name.resize(name.find(':'));  // all its queues are one
        if (std::ranges::find(devices, name, &ProfileDevice::name) == devices.end())
            devices.push_back({name, device(id).model(), {}});
    }
    return devices;
}

// Several contexts do the same.
void add(std::vector<ProfileInnerStep>& steps, ProfileInnerStep step) {
    for (auto& known : steps)
        if (known.step == step.step && known.path == step.path && known.algorithm == step.algorithm) {
            known.count += step.count;
            known.total += step.total;
            return;
        }
    steps.push_back(std::move(step));
}

}  // namespace

Profile make_profile(const Program& program, const std::string& model,
                     std::span<const Profiler* const> profilers) {
    Profile profile;
    profile.model = model;
    profile.version = version;
    profile.cpu = cpu_model();
    profile.isa = std::string(name_of(cpu_isa()));
    profile.threads = default_threads();
    profile.recording.date = utc_now();
    profile.recording.libraries = library_versions();
    auto memory = program.memory();
    profile.memory =
        ProfileMemory{int64_t(memory.weights + memory.made_weights), int64_t(memory.packed_weights),
                      int64_t(memory.plan), int64_t(memory.plan_lower_bound), int64_t(memory.inputs_outputs)};
    profile.operators = program.sources();
    profile.devices = devices_of(program);
    for (size_t i = 0; i < program.steps().size(); ++i) {
        profile.order.push_back(int(i));
        profile.steps.push_back(step_of(program, i));
    }
    for (auto& report : program.values())
        profile.values.push_back(value_of(program, report, profile.values.size()));
    count_memory_once(profile.values);

    std::optional<int64_t> origin;
    for (auto* profiler : profilers)
        if (auto start = profiler->first_start()) origin = std::min(origin.value_or(*start), *start);
    for (auto* profiler : profilers) {
        int thread = int(profile.tracks.size());
        profile.tracks.push_back({ProfileSide::device, text("cpu0:", thread)});
        profile.runs_total += profiler->runs_total();
        for (auto& step : profiler->inner_steps()) add(profile.inner_steps, std::move(step));
        for (auto& run : profiler->runs(origin.value_or(0))) {
            run.thread = thread;
            profile.runs.push_back(std::move(run));
        }
    }
    return profile;
}

}  // namespace mge
