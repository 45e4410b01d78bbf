// SPDX-License-Identifier: Apache-2.0
#include "libmge/comm/flight_recorder.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "libmge/base/json_writer.h"
#include "libmge/base/version.h"

namespace mge {
namespace {

double seconds(auto duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

void FlightRecorder::begin(std::shared_ptr<const ExchangeInfo> info, uint64_t sequence) {
    std::lock_guard lock(mutex_);
    ++count_;
    last() = {};
    last().info = std::move(info);
    last().sequence = sequence;
    last().start = Clock::now();
}

void FlightRecorder::end() {
    std::lock_guard lock(mutex_);
    last().stop = Clock::now();
    last().state = State::done;
}

void FlightRecorder::fail(std::string_view error, std::vector<int> missing) {
    std::lock_guard lock(mutex_);
    last().stop = Clock::now();
    last().state = State::failed;
    last().missing = std::move(missing);
    last().error = error;
}

void FlightRecorder::write(std::ostream& stream, const Process& process) const {
    static constexpr std::string_view states[] = {"running", "done", "failed"};
    std::lock_guard lock(mutex_);
    JsonWriter json(stream);
    auto write_entry = [&](uint64_t number) {
        auto& entry = entries_[number % capacity];
        auto& parts = entry.info->parts();
        bool is_running = entry.state == State::running;
        json.member("number", number);
        json.member("sequence", entry.sequence);
        json.member("operation", parts.operation);
        json.member("dtype", parts.dtype);
        json.member("shape", parts.shape);
        json.member("bytes", parts.bytes);
        json.member("group", parts.group);
        json.member("start", seconds(entry.start.time_since_epoch()));
        json.member("seconds", is_running ? std::nullopt : std::optional(seconds(entry.stop - entry.start)));
        json.member("state", states[size_t(entry.state)]);
        json.member("missing", is_running ? process.missing : entry.missing);
        json.member("error", entry.error);
    };
    json.object([&] {
        json.member("kind", "mge-flight-record");
        json.member("schema_version", 1);
        json.member("version", version);
        json.member("engine", process.engine);
        json.member("rank", process.rank);
        json.member("size", process.size);
        json.member("timeout", seconds(process.timeout));
        json.member("written", seconds(Clock::now().time_since_epoch()));
        json.key("exchanges");
        json.list_of([&] {
            for (uint64_t i = count_ - std::min<uint64_t>(count_, capacity); i < count_; ++i)
                json.element_begins(), json.object([&] { write_entry(i); });
        });
    });
    stream << '\n';
}

}  // namespace mge
