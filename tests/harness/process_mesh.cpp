// SPDX-License-Identifier: Apache-2.0
#include "tests/harness/process_mesh.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "libmge/base/error.h"

namespace mge::test {
namespace {

constexpr int poll_milliseconds = 20;

// A transfer under way.
struct Conversation {
    Transfer rest;
    int socket;

    bool is_done() const { return rest.send.empty() && rest.receive.empty(); }
    pollfd events() const {
        return {is_done() ? -1 : socket,
                short((rest.send.empty() ? 0 : POLLOUT) | (rest.receive.empty() ? 0 : POLLIN)), 0};
    }
    // False if the connection is lost.
    bool advance(bool is_cut) {
        return advance(rest.receive,
                       [&](auto bytes) { return ::recv(socket, bytes.data(), bytes.size(), 0); }) &&
               advance(rest.send, [&](auto bytes) {
                   return is_cut ? ssize_t(bytes.size())
                                 : ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
               });
    }

private:
    template <class Byte>
    static bool advance(std::span<Byte>& bytes, auto&& call) {
        while (!bytes.empty()) {
            ssize_t n = call(bytes);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0 && errno == EAGAIN) return true;
            if (n <= 0) return false;
            bytes = bytes.subspan(size_t(n));
        }
        return true;
    }
};

}  // namespace

ProcessMesh::ProcessMesh(int rank, int size) : pairs_(static_cast<size_t>(size)) {
    set_place(rank, size);
    for (auto& reports : reports_) reports.resize(pairs_.size());
}

std::vector<std::shared_ptr<ProcessMesh>> ProcessMesh::make(int size) {
    std::vector<std::shared_ptr<ProcessMesh>> all;
    for (int i = 0; i < size; ++i) all.push_back(std::make_shared<ProcessMesh>(i, size));
    for (size_t a = 0; a < all.size(); ++a)
        for (size_t b = 0; b < a; ++b)
            for (auto place :
                 {+[](Pair& pair) { return &pair.data; }, +[](Pair& pair) { return &pair.reports[0]; },
                  +[](Pair& pair) { return &pair.reports[1]; }}) {
                int ends[2];
                MGE_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
                *place(all[a]->pairs_[b]) = ends[0];
                *place(all[b]->pairs_[a]) = ends[1];
            }
    return all;
}

ProcessMesh::~ProcessMesh() {
    is_cut_ = false;
    ProcessMesh::leave();
}

void ProcessMesh::transfer_messages(std::span<const Transfer> transfers) {
    is_aborted_ = false;
    std::vector<Conversation> conversations;
    for (auto& transfer : transfers)
        conversations.push_back({transfer, pairs_.at(size_t(transfer.rank)).data});
    for (;;) {
        std::vector<pollfd> events;
        std::vector<int> pending;
        for (auto& conversation : conversations) {
            size_t before = conversation.rest.send.size() + conversation.rest.receive.size();
            if (!conversation.advance(is_cut_)) throw_gone(conversation.rest.rank);
            if (conversation.rest.send.size() + conversation.rest.receive.size() < before) progressed();
            if (conversation.is_done()) continue;
            events.push_back(conversation.events());
            pending.push_back(conversation.rest.rank);
        }
        if (pending.empty()) return;
        waits_for(pending.front());
        if (is_aborted_) throw_stopped(pending);
        ::poll(events.data(), events.size(), poll_milliseconds);
    }
}

const Report* ProcessMesh::received_report(Report::Kind kind, int rank) const {
    std::lock_guard lock(mutex_);
    auto& report = reports_[kind][size_t(rank)];
    int socket = pairs_[size_t(rank)].reports[kind];
    if (report.sender < 0 && socket >= 0 && !is_cut_)
        if (Report found; ::recv(socket, &found, sizeof found, 0) == sizeof found) report = found;
    return report.sender < 0 ? nullptr : &report;
}

void ProcessMesh::send_report(Report::Kind kind, const Report& report) {
    std::lock_guard lock(mutex_);
    if (is_cut_) return;
    for (auto& pair : pairs_)
        if (pair.data >= 0) ::send(pair.reports[kind], &report, sizeof report, MSG_NOSIGNAL);
}

void ProcessMesh::leave() {
    std::lock_guard lock(mutex_);
    if (is_cut_) return;
    for (auto& pair : pairs_) {
        if (pair.data < 0) continue;
        ::close(pair.data);
        for (int socket : pair.reports) ::close(socket);
        pair = {};
    }
}

}  // namespace mge::test
