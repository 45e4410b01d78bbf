// SPDX-License-Identifier: Apache-2.0
#pragma once
// Remembers the last exchanges of a process, so that a job that hangs or fails can be understood afterwards.

#include <array>
#include <chrono>
#include <iosfwd>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/base/api.h"
#include "libmge/comm/exchange_info.h"

namespace mge {

// All functions may be called by several threads.
class MGE_API FlightRecorder {
public:
    static constexpr size_t capacity = 64;

    void begin(std::shared_ptr<const ExchangeInfo> info, uint64_t sequence);
    // Ends the exchange that began last.
    void end();
    void fail(std::string_view error, std::vector<int> missing);

    struct Process {
        std::string_view engine;
        int rank, size;
        std::chrono::milliseconds timeout;
        std::vector<int> missing;  // the processes that this one waits for, if an exchange is running
    };
    // Writes the record as JSON (docs/schemas/flight_record.schema.json).
    void write(std::ostream& stream, const Process& process) const;

private:
    using Clock = std::chrono::system_clock;
    enum class State { running, done, failed };
    struct Entry {
        std::shared_ptr<const ExchangeInfo> info;
        uint64_t sequence = 0;
        Clock::time_point start, stop;
        State state = State::running;
        std::vector<int> missing;
        std::string error;
    };
    Entry& last() { return entries_[(count_ - 1) % capacity]; }

    mutable std::mutex mutex_;
    std::array<Entry, capacity> entries_;
    uint64_t count_ = 0;  // exchanges since the start; the last one is entries_[(count_ - 1) % capacity]
};

}  // namespace mge
