// SPDX-License-Identifier: Apache-2.0
#include "libmge/comm/process_mesh.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <list>
#include <utility>

#include "libmge/base/error.h"
#include "libmge/comm/announcement.h"

namespace mge {

namespace {

// The first message of a process that has connected to another one.
struct Hello {
    char name[8] = {'M', 'G', 'E', 'm', 'e', 's', 'h', '1'};
    char token[ProcessMesh::token_bytes] = {};
    int32_t rank = 0;
};

// Connections that have not said yet which process they are. When there are more, the oldest is closed.
constexpr size_t most_pending_peers = 128;

template <class T>
std::span<const std::byte> bytes_of_value(const T& value) {
    return std::as_bytes(std::span(&value, 1));
}
template <class T>
std::span<std::byte> bytes_to_fill(T& value) {
    return std::as_writable_bytes(std::span(&value, 1));
}

// Compares two secrets in a time that does not depend on where they differ.
bool is_same_secret(std::string_view a, std::string_view b) {
    unsigned differences = 0;
    for (size_t i = 0; i < a.size(); ++i) differences |= unsigned(a[i] ^ b[i]);
    return differences == 0;
}

// Sends or receives by `move` as much as can be done at once. False when the connection is lost.
template <class Byte>
bool advance(std::span<Byte>& bytes, auto&& move) {
    while (!bytes.empty()) {
        ssize_t n = move(bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
        if (n <= 0) return false;
        bytes = bytes.subspan(size_t(n));
    }
    return true;
}

// A connection that has not said yet which process it is. It stays at its address.
class PendingPeer {
public:
    explicit PendingPeer(Socket socket) : socket_(std::move(socket)) {}
    PendingPeer(const PendingPeer&) = delete;

    int descriptor() const { return socket_.descriptor(); }
    // False when the connection is lost.
    bool listen() {
        return advance(rest_, [&](auto rest) { return ::recv(descriptor(), rest.data(), rest.size(), 0); });
    }
    bool has_spoken() const { return rest_.empty(); }
    // The hello, once the guest has spoken.
    const Hello& hello() const { return hello_; }
    Socket take() { return std::move(socket_); }

private:
    Socket socket_;
    Hello hello_;
    std::span<std::byte> rest_ = bytes_to_fill(hello_);
};

// A transfer under way: each side announces what it sends, then sends it.
class Conversation {
public:
    Conversation(int descriptor, std::string_view what, const Transfer& transfer)
        : descriptor_(descriptor),
          rank_(transfer.rank),
          ours_(what, transfer.send.size()),
          expected_(what, transfer.receive.size()),
          send_{bytes_of_value(ours_), transfer.send},
          receive_{bytes_to_fill(theirs_), transfer.receive} {}
    Conversation(const Conversation&) = delete;

    // Sent before the other process's announcement is read: if that one fails, the other knows why. A failed
    // connection is noticed when something is received.
    void announce() { send_some(send_[0]); }
    bool is_done() const { return has_sent() && has_received(); }
    int rank() const { return rank_; }
    size_t bytes_left() const {
        return send_[0].size() + send_[1].size() + receive_[0].size() + receive_[1].size();
    }
    // The events for poll(), none when the transfer is done.
    pollfd events() const {
        if (is_done()) return {-1, 0, 0};
        return {descriptor_, short((has_sent() ? 0 : POLLOUT) | (has_received() ? 0 : POLLIN)), 0};
    }
    void advance_by(short events) {
        // Received data comes first: it may say why the other process closed the connection.
        if (events & (POLLIN | POLLHUP | POLLERR)) receive();
        if (events & POLLOUT) send();
    }

private:
    bool has_sent() const { return send_[0].empty() && send_[1].empty(); }
    bool has_received() const { return is_checked_ && receive_[1].empty(); }
    void send() {
        for (auto& part : send_)
            if (!part.empty()) require(send_some(part));
    }
    bool send_some(std::span<const std::byte>& part) const {
        return advance(
            part, [&](auto rest) { return ::send(descriptor_, rest.data(), rest.size(), MSG_NOSIGNAL); });
    }
    void receive() {
        auto move = [&](auto rest) { return ::recv(descriptor_, rest.data(), rest.size(), 0); };
        require(advance(receive_[0], move));
        if (!receive_[0].empty()) return;
        if (!is_checked_) check();
        require(advance(receive_[1], move));
    }
    void require(bool is_alive) const {
        if (!is_alive)
            throw UserError(text("process ", rank_, " is gone: it has ended, or its connection is lost"));
    }
    void check() {
        expected_.require_same(theirs_, rank_);
        is_checked_ = true;
    }

    int descriptor_, rank_;
    Announcement ours_, expected_, theirs_;
    std::array<std::span<const std::byte>, 2> send_;
    std::array<std::span<std::byte>, 2> receive_;
    bool is_checked_ = false;
};

size_t bytes_left(const std::deque<Conversation>& conversations) {
    size_t sum = 0;
    for (auto& conversation : conversations) sum += conversation.bytes_left();
    return sum;
}

[[noreturn]] void throw_silent(const std::deque<Conversation>& conversations,
                               std::chrono::milliseconds limit) {
    std::string ranks;
    for (auto& conversation : conversations)
        if (!conversation.is_done()) ranks += text(ranks.empty() ? "" : ", ", conversation.rank());
    throw UserError(text("no answer from process ", ranks, " for ", double(limit.count()) / 1000,
                         " s (MGE_DISTRIBUTED_TIMEOUT): it is stopped or busy, or not reachable"));
}

void finish(std::deque<Conversation>& conversations, std::chrono::milliseconds limit) {
    std::vector<pollfd> events(conversations.size());
    for (auto& conversation : conversations) conversation.announce();
    auto now = std::chrono::steady_clock::now;
    Deadline end = now() + limit;
    while (!std::ranges::all_of(conversations, &Conversation::is_done)) {
        std::ranges::transform(conversations, events.begin(), &Conversation::events);
        if (wait_for_events(events, end) == 0) throw_silent(conversations, limit);
        size_t before = bytes_left(conversations);
        for (size_t i = 0; i < events.size(); ++i) conversations[i].advance_by(events[i].revents);
        if (bytes_left(conversations) != before) end = now() + limit;
    }
}

}  // namespace

ProcessMesh::ProcessMesh(const std::string& host) : listening_(listen_at(host, SOMAXCONN)) {}

ProcessMesh::~ProcessMesh() = default;

int ProcessMesh::port() const { return port_of(listening_); }

void ProcessMesh::connect(int rank, std::span<const ProcessAddress> processes,
                          std::span<const std::string> tokens, std::chrono::seconds patience,
                          std::chrono::milliseconds limit) {
    MGE_CHECK(peers_.empty() && tokens.size() == processes.size());
    for (auto& token : tokens) MGE_CHECK(token.size() == token_bytes);
    Deadline end = std::chrono::steady_clock::now() + patience;
    set_place(rank, int(processes.size()));
    limit_ = limit;
    peers_.resize(processes.size());
    Hello hello;
    hello.rank = rank;
    for (size_t other = 0; other < size_t(rank); ++other) {
        std::ranges::copy(tokens[other], hello.token);
        peers_[other] = connect_to(processes[other].host, processes[other].port, end);
        send_all(peers_[other], bytes_of_value(hello), end);
    }
    let_in_others(tokens, patience, end);
    listening_ = {};
}

// Listens to all pending peers at once: a silent one holds up no other.
void ProcessMesh::let_in_others(std::span<const std::string> tokens, std::chrono::seconds patience,
                                Deadline end) {
    std::list<PendingPeer> pending_peers;
    int missing = size() - 1 - rank();
    auto is_ours = [&](const Hello& hello) {
        return std::ranges::equal(hello.name, Hello().name) && hello.rank > rank() && hello.rank < size() &&
               !peers_[size_t(hello.rank)] &&
               is_same_secret({hello.token, token_bytes}, tokens[size_t(hello.rank)]);
    };
    auto is_to_go = [&](PendingPeer& pending_peer) {
        if (!pending_peer.listen()) return true;
        if (!pending_peer.has_spoken()) return false;
        if (is_ours(pending_peer.hello())) {
            peers_[size_t(pending_peer.hello().rank)] = pending_peer.take();
            --missing;
        }
        return true;
    };
    while (missing > 0) {
        std::vector<pollfd> events{{listening_.descriptor(), POLLIN, 0}};
        for (auto& pending_peer : pending_peers) events.push_back({pending_peer.descriptor(), POLLIN, 0});
        if (wait_for_events(events, end) == 0)
            throw UserError(text("process ", rank(), " waited ", patience.count(), " s for ", missing, " of ",
                                 size(), " processes, which have not come"));
        pending_peers.remove_if(is_to_go);
        if (!events[0].revents) continue;
        Socket socket = accept_from(listening_, end);
        if (!socket || pending_peers.size() == most_pending_peers)  // there may be no descriptor left
            if (!pending_peers.empty()) pending_peers.pop_front();
        if (socket) pending_peers.emplace_back(std::move(socket));
    }
}

void ProcessMesh::transfer(std::string_view what, std::span<const Transfer> transfers) {
    std::deque<Conversation> conversations;
    for (auto& transfer : transfers)
        conversations.emplace_back(peers_.at(size_t(transfer.rank)).descriptor(), what, transfer);
    finish(conversations, limit_);
}

void ProcessMesh::leave() {
    for (auto& peer : peers_) peer = {};
}

void ProcessMesh::close_in_child() const {
    for (auto& peer : peers_)
        if (peer) ::close(peer.descriptor());
}

}  // namespace mge
