// SPDX-License-Identifier: Apache-2.0
#include "libmge/comm/message_communicator.h"

#include <algorithm>
#include <vector>

#include "libmge/base/error.h"
#include "libmge/base/version.h"
#include "libmge/comm/announcement.h"

namespace mge {
namespace {

// Slower connections than this many bytes per millisecond count as silent.
constexpr size_t slowest_link = 1000;

// The first message of each transfer, in each direction.
struct Opening {
    Announcement announcement;
    std::byte bytes[64] = {};  // the whole transfer if it fits

    bool holds(size_t count) const { return count <= sizeof bytes; }
};

std::span<const std::byte> sent(const Opening& opening) { return std::as_bytes(std::span(&opening, 1)); }
std::span<std::byte> received(Opening& opening) { return std::as_writable_bytes(std::span(&opening, 1)); }

}  // namespace

void MessageCommunicator::join(std::span<const std::string> addresses, Milliseconds patience,
                               Milliseconds limit) {
    limit_ = patience;
    run_on_engine([&] { connect(addresses, patience); });
    std::vector<Transfer> greetings;
    for (int other = 0; other < size(); ++other)
        if (other != rank()) greetings.push_back({other, {}, {}});
    auto turn = take_turn();
    exchange(text("MGE ", version, " joins ", size(), " processes over ", engine()), greetings);
    limit_ = limit;
}

void MessageCommunicator::run_on_engine(std::function<void()> work) {
    thread_.run(std::move(work), [&] { abort(); });
}

void MessageCommunicator::transfer(std::string_view what, std::span<const Transfer> transfers) {
    run_on_engine([&] { transfer_on_engine(what, transfers); });
}

void MessageCommunicator::transfer_on_engine(std::string_view what, std::span<const Transfer> transfers) {
    size_t n = transfers.size(), bytes = 0;
    std::vector<Opening> ours(n), theirs(n);
    std::vector<Transfer> openings, rest;
    for (size_t i = 0; i < n; ++i) {
        auto& transfer = transfers[i];
        ours[i].announcement = Announcement(what, transfer.send.size());
        if (ours[i].holds(transfer.send.size())) std::ranges::copy(transfer.send, ours[i].bytes);
        openings.push_back({transfer.rank, sent(ours[i]), received(theirs[i])});
    }
    transfer_messages(openings, deadline(0));
    for (size_t i = 0; i < n; ++i) {
        auto [other, send, receive] = transfers[i];
        Announcement(what, receive.size()).require_same(theirs[i].announcement, other);
        if (theirs[i].holds(receive.size())) {
            std::copy_n(theirs[i].bytes, receive.size(), receive.data());
            receive = {};
        }
        if (ours[i].holds(send.size())) send = {};
        if (!send.empty() || !receive.empty()) rest.push_back({other, send, receive});
        bytes += send.size() + receive.size();
    }
    if (!rest.empty()) transfer_messages(rest, deadline(bytes));
}

Deadline MessageCommunicator::deadline(size_t bytes) const {
    return std::chrono::steady_clock::now() + limit_ + Milliseconds(bytes / slowest_link);
}

void MessageCommunicator::throw_silent(std::span<const int> ranks) const {
    std::string list;
    for (int rank : ranks) list += text(list.empty() ? "" : ", ", rank);
    throw UserError(text("no answer from process ", list, " for ", double(limit_.count()) / 1000,
                         " s (MGE_DISTRIBUTED_TIMEOUT): it is stopped or busy, or not reachable"));
}

}  // namespace mge
