// SPDX-License-Identifier: Apache-2.0
#include "libmge/comm/communicator.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <thread>
#include <utility>

#include "libmge/base/error.h"
#include "libmge/base/files/file.h"
#include "libmge/base/interruption.h"
#include "libmge/base/log.h"
#include "libmge/base/threads/at_fork.h"
#include "libmge/base/threads/per_process.h"
#include "libmge/base/version.h"

namespace mge {
namespace {

// A process that fails reports it, and disconnects a little later, when the report should have arrived.
constexpr std::chrono::milliseconds delivery_time(100);
// After the time limit, each process reports which one it waits for, and waits so long for such reports of
// others.
constexpr std::chrono::milliseconds inquiry_time(500);
constexpr std::chrono::milliseconds report_interval(10);

void wait_until(const std::function<bool()>& is_true, std::chrono::milliseconds time) {
    for (auto waited = report_interval; !is_true() && waited <= time; waited += report_interval)
        std::this_thread::sleep_for(report_interval);
}

// Transfers up to this size need one message instead of two. A process sends most_short_bytes_sent of them at
// most, in an exchange with all others.
constexpr size_t least_short_bytes = 256, most_short_bytes = 4096, most_short_bytes_sent = 32 << 10;

thread_local bool is_exchanging = false;

struct ExchangingScope {
    ExchangingScope() { is_exchanging = true; }
    ~ExchangingScope() { is_exchanging = false; }
    ExchangingScope(const ExchangingScope&) = delete;
    ExchangingScope& operator=(const ExchangingScope&) = delete;
};

PerProcess<std::shared_ptr<Communicator>>& own_communicator() {
    static PerProcess<std::shared_ptr<Communicator>> own;
    return own;
}

// The handler of the child must not call own_communicator(), which is empty there.
constinit const Communicator* of_parent = nullptr;
const InChild close_communicator([] {
    if (of_parent) of_parent->close_in_child();
    of_parent = nullptr;
});

// Compares two secrets in a time that does not depend on where they differ.
bool is_same_secret(std::string_view a, std::string_view b) {
    unsigned differences = 0;
    for (size_t i = 0; i < a.size(); ++i) differences |= unsigned(a[i] ^ b[i]);
    return differences == 0;
}

std::string list_text(std::span<const int> ranks) {
    std::string list;
    for (int rank : ranks) list += text(list.empty() ? "" : ", ", rank);
    return list;
}

}  // namespace

Communicator::~Communicator() = default;

void Communicator::set_place(int rank, int size) {
    rank_ = rank;
    size_ = size;
}

void Communicator::run_on_engine(const std::function<void()>& work) {
    if (!thread_) thread_ = std::make_unique<EngineThread>();
    progressed();
    auto has_to_stop = [&] { return is_closing_ || is_overdue() || received_failure(); };
    thread_->run(work, has_to_stop, [&] { abort(); });
}

void Communicator::join(std::span<const std::string> addresses, Milliseconds patience, Milliseconds limit,
                        const Proofs& proofs) {
    limit_ = patience;
    run_on_engine([&] { connect(addresses, patience); });
    std::vector<int64_t> all(static_cast<size_t>(size()));
    std::iota(all.begin(), all.end(), 0);
    auto name = text("join of MGE ", version, " over ", engine());
    auto info =
        std::make_shared<const ExchangeInfo>(ExchangeInfo::Parts{.operation = name, .group = std::move(all)});
    auto received = proofs.expected;
    std::vector<Transfer> greetings;
    for (int other = 0; other < size(); ++other) {
        if (other == rank()) continue;
        auto& greeting = greetings.emplace_back(Transfer{other, {}, {}});
        if (proofs.sent.empty()) continue;
        greeting.send = std::as_bytes(std::span(proofs.sent.at(size_t(other))));
        greeting.receive = std::as_writable_bytes(std::span(received.at(size_t(other))));
    }
    exchange(info, [&](const Move& move) {
        move(greetings);
        for (auto& [other, send, receive] : greetings)
            if (!receive.empty() && !is_same_secret(received[size_t(other)], proofs.expected[size_t(other)]))
                throw UserError(text("process ", other,
                                     " does not know the secret: another program has its place, or its "
                                     "MGE_DISTRIBUTED_SECRET differs"));
    });
    limit_ = limit;
    sequences_.clear();
}

void Communicator::exchange(const std::shared_ptr<const ExchangeInfo>& info,
                            std::span<const Transfer> transfers) {
    exchange(info, [&](const Move& move) { move(transfers); });
}

void Communicator::exchange(const std::shared_ptr<const ExchangeInfo>& info,
                            const std::function<void(const Move&)>& work) {
    if (is_exchanging)
        throw UserError("an exchange between processes waits on this thread: none begins meanwhile");
    std::lock_guard turn(turn_);
    if (is_broken_)
        throw UserError(
            text("an exchange between processes has failed before, and this one is no longer "
                 "connected with them: ",
                 failure_));
    ExchangingScope scope;
    sequence_ = ++sequences_[info->parts().group];
    is_announced_ = false;
    recorder_.begin(info, sequence_);
    run_on_engine([&] {
        try {
            work([&](std::span<const Transfer> transfers) { move(info, transfers); });
        } catch (const std::exception& e) {
            fail(*info, e.what());
            throw UserError(failure_);
        }
    });
    awaited_ = -1;
    recorder_.end();
}

void Communicator::move(const std::shared_ptr<const ExchangeInfo>& info,
                        std::span<const Transfer> transfers) {
    try {
        progressed();
        if (is_announced_)
            transfer_messages(transfers);
        else
            announce(*info, transfers);
        is_announced_ = true;
    } catch (const std::exception& e) {
        fail(*info, e.what());  // before the caller frees its buffers
        throw;
    }
}

size_t Communicator::short_bytes() const {
    return std::clamp(most_short_bytes_sent / size_t(size_), least_short_bytes, most_short_bytes);
}

void Communicator::announce(const ExchangeInfo& info, std::span<const Transfer> transfers) {
    const ExchangeHeader ours(info, sequence_);
    const size_t limit = short_bytes(), message = sizeof ours + limit;
    first_messages_.resize(2 * transfers.size() * message);
    auto first_message = [&](size_t i) { return std::span(first_messages_).subspan(i * message, message); };
    std::vector<Transfer> announcements, rest;
    for (size_t i = 0; i < transfers.size(); ++i) {
        auto& [other, send, receive] = transfers[i];
        auto to_send = first_message(2 * i);
        std::memcpy(to_send.data(), &ours, sizeof ours);
        if (send.size() <= limit) std::ranges::copy(send, to_send.subspan(sizeof ours).begin());
        announcements.push_back({other, to_send, first_message(2 * i + 1)});
    }
    transfer_messages(announcements);
    for (size_t i = 0; i < transfers.size(); ++i) {
        auto [other, send, receive] = transfers[i];
        auto received = first_message(2 * i + 1);
        ExchangeHeader theirs;
        std::memcpy(&theirs, received.data(), sizeof theirs);
        ours.require_same(theirs, other);
        if (receive.size() <= limit) {
            std::ranges::copy(received.subspan(sizeof ours, receive.size()), receive.begin());
            receive = {};
        }
        if (send.size() <= limit) send = {};
        if (!send.empty() || !receive.empty()) rest.push_back({other, send, receive});
    }
    if (!rest.empty()) transfer_messages(rest);
}

void Communicator::fail(const ExchangeInfo& info, const std::string& message) {
    if (is_broken_) return;
    failure_ = text("[", info.label(), ", number ", sequence_, "] ", message);
    recorder_.fail(message, missing_);
    Report report;
    report.about = rank_;
    failure_.copy(report.message, sizeof report.message - 1);
    send_failure(forwarded_.value_or(report));
    is_broken_ = true;
    try {
        write_record();
    } catch (const std::exception& e) {
        log_warning(text("[distributed] the record of exchanges cannot be written: ", e.what()));
    }
}

void Communicator::send_failure(const Report& report) {
    Report mine = report;
    mine.sender = rank_;
    send_report(Report::failed, mine);
    std::this_thread::sleep_for(delivery_time);
    leave();
}

const Report* Communicator::received_failure() const {
    for (int other = 0; other < size_; ++other)
        if (auto* report = other == rank_ ? nullptr : received_report(Report::failed, other)) return report;
    return nullptr;
}

// Follows the reports from one waiting process to the next. Returns the one that does not say that it waits.
int Communicator::last_awaited(int rank) const {
    int found = rank;
    for (int steps = 0; steps < size_ && found != rank_; ++steps) {
        auto* report = received_report(Report::waiting, found);
        if (!report) return found;
        found = report->about;
    }
    return rank;  // they wait for each other
}

void Communicator::throw_failure_of_another() {
    auto* report = received_failure();
    if (!report) return;
    forwarded_ = *report;
    throw UserError(text("process ", report->about, " has failed: ", report->message));
}

void Communicator::throw_gone(int rank) {
    missing_ = {rank};
    wait_until([&] { return received_failure() != nullptr; }, delivery_time);
    throw_failure_of_another();
    throw UserError(text("process ", rank, " is gone: it has ended, or its connection is lost"));
}

void Communicator::throw_stopped(std::vector<int> pending) {
    missing_ = std::move(pending);
    throw_failure_of_another();
    if (!is_overdue()) throw UserError("an exchange between processes was interrupted");
    send_report(Report::waiting, {.about = missing_.front(), .sender = rank_});
    wait_until([&] { return received_failure() != nullptr; }, inquiry_time);
    throw_failure_of_another();
    for (int& rank : missing_) rank = last_awaited(rank);
    std::ranges::sort(missing_);
    missing_.erase(std::ranges::unique(missing_).begin(), missing_.end());
    throw UserError(text("no answer from process ", list_text(missing_), " for ",
                         double(limit_.count()) / 1000,
                         " s (MGE_DISTRIBUTED_TIMEOUT): it is stopped or busy, or not reachable"));
}

void Communicator::write_record() const {
    if (record_path_.empty()) return;
    int awaited = awaited_;
    auto missing = awaited < 0 ? std::vector<int>{} : std::vector{awaited};
    write_file_atomically(text(record_path_, ".", rank_, ".json"), [&](std::ostream& stream) {
        recorder_.write(stream, {engine(), rank_, size_, limit_, missing});
    });
}

void Communicator::close(const std::string& failure) {
    is_closing_ = true;
    std::lock_guard turn(turn_);
    bool was_broken = is_broken_.exchange(true);
    failure_ = "this process has closed its connections";
    Report report;
    report.about = rank_;
    text("it has ended: ", failure).copy(report.message, sizeof report.message - 1);
    run_on_engine([&] {
        if (!failure.empty() && !was_broken) send_failure(report);
        finish(!failure.empty() || was_broken);
    });
}

std::shared_ptr<Communicator> communicator() { return own_communicator().get(); }

void set_communicator(std::shared_ptr<Communicator> communicator) {
    of_parent = communicator.get();
    own_communicator().get() = std::move(communicator);
}

}  // namespace mge
