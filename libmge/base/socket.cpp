// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "libmge/base/error.h"

namespace mge {

namespace {

constexpr std::chrono::milliseconds longest_poll(100);
std::atomic<void (*)()> interruption{nullptr};
thread_local void (*interruption_of_thread)() = nullptr;

[[noreturn]] void throw_network(const char* action, const std::string& host, int port, const char* reason) {
    throw UserError(text("cannot ", action, " ", host, ":", port, ": ", reason));
}

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

AddressList addresses_of(const char* action, const std::string& host, int port) {
    addrinfo wanted{}, *found = nullptr;
    wanted.ai_family = AF_UNSPEC;
    wanted.ai_socktype = SOCK_STREAM;
    int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
    if (code) throw_network(action, host, port, ::gai_strerror(code));
    return {found, ::freeaddrinfo};
}

Socket open_socket(const addrinfo& address) {
    return Socket(::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Small messages are sent immediately, and a dead machine is detected eventually.
void set_options(const Socket& socket) {
    int on = 1;
    ::setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(socket.descriptor(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

bool wait_until_ready(const Socket& socket, short events, Deadline end) {
    pollfd entry{socket.descriptor(), events, 0};
    return wait_for_events({&entry, 1}, end) > 0;
}

bool is_connected(const Socket& socket, const addrinfo& address, Deadline end) {
    if (::connect(socket.descriptor(), address.ai_addr, address.ai_addrlen) == 0) return true;
    if (errno != EINPROGRESS) return false;
    if (!wait_until_ready(socket, POLLOUT, end)) return errno = ETIMEDOUT, false;
    int code = 0;
    socklen_t size = sizeof code;
    ::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &code, &size);
    errno = code;
    return code == 0;
}

}  // namespace

Socket::Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
Socket& Socket::operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
}
Socket::~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

Socket listen_at(const std::string& host, int backlog) {
    auto addresses = addresses_of("listen at", host, 0);
    Socket socket = open_socket(*addresses);
    if (!socket || ::bind(socket.descriptor(), addresses->ai_addr, addresses->ai_addrlen) != 0 ||
        ::listen(socket.descriptor(), backlog) != 0)
        throw_network("listen at", host, 0, std::strerror(errno));
    return socket;
}

int port_of(const Socket& listening) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    ::getsockname(listening.descriptor(), reinterpret_cast<sockaddr*>(&address), &size);
    bool is_old = address.ss_family == AF_INET;
    return ntohs(is_old ? reinterpret_cast<sockaddr_in&>(address).sin_port
                        : reinterpret_cast<sockaddr_in6&>(address).sin6_port);
}

Socket connect_to(const std::string& host, int port, Deadline end) {
    auto addresses = addresses_of("connect to", host, port);
    for (auto* address = addresses.get(); address; address = address->ai_next) {
        Socket socket = open_socket(*address);
        if (!socket || !is_connected(socket, *address, end)) continue;
        set_options(socket);
        return socket;
    }
    throw_network("connect to", host, port, std::strerror(errno));
}

Socket accept_from(const Socket& listening, Deadline end) {
    if (!wait_until_ready(listening, POLLIN, end)) return {};
    Socket socket(::accept4(listening.descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) set_options(socket);
    return socket;
}

int wait_for_events(std::span<pollfd> entries, Deadline end) {
    for (;;) {
        auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        left = std::clamp(left, {}, longest_poll);
        int ready = ::poll(entries.data(), entries.size(), int(left.count()));
        if (ready > 0) return ready;
        if (ready < 0 && errno != EINTR)
            throw UserError(text("cannot wait for other processes: ", std::strerror(errno)));
        check_interruption();
        if (std::chrono::steady_clock::now() >= end) return 0;
    }
}

void set_interruption(void (*may_throw)()) { interruption = may_throw; }

void set_interruption_of_thread(void (*may_throw)()) { interruption_of_thread = may_throw; }

void check_interruption() {
    if (interruption_of_thread) return interruption_of_thread();
    if (auto may_throw = interruption.load()) may_throw();
}

bool send_all(const Socket& socket, std::span<const std::byte> bytes, Deadline end) {
    while (!bytes.empty()) {
        if (!wait_until_ready(socket, POLLOUT, end)) return false;
        ssize_t n = ::send(socket.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return false;
        if (n > 0) bytes = bytes.subspan(size_t(n));
    }
    return true;
}

}  // namespace mge
