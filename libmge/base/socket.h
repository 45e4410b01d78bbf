// SPDX-License-Identifier: Apache-2.0
#pragma once
// Connections to other processes by TCP.

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <span>
#include <string>

#include "libmge/base/api.h"

namespace mge {

using Deadline = std::chrono::steady_clock::time_point;

// A descriptor that is closed with its object; a program that this process starts does not get it.
class Socket {
public:
    Socket() = default;
    explicit Socket(int descriptor) : descriptor_(descriptor) {}
    Socket(Socket&& other) noexcept;
    Socket& operator=(Socket&& other) noexcept;
    ~Socket();
    int descriptor() const { return descriptor_; }
    explicit operator bool() const { return descriptor_ >= 0; }

private:
    int descriptor_ = -1;
};

// All of them throw UserError, which names the address and the system's reason.
// Waits for connections to `host`, an address of this machine, at a port that is free.
Socket listen_at(const std::string& host, int backlog);
int port_of(const Socket& listening);
Socket connect_to(const std::string& host, int port, Deadline end);
// Null if no peer has connected.
Socket accept_from(const Socket& listening, Deadline end);

// poll() until something is ready or time is over; gives how many are ready.
int wait_for_events(std::span<pollfd> entries, Deadline end);
// A function that may end waits by throwing: it is called ten times a second during a wait and after a
// signal. By default there is no such function.
MGE_API void set_interruption(void (*may_throw)());
// Replaces it on the calling thread.
MGE_API void set_interruption_of_thread(void (*may_throw)());
// Calls it, for waits of another kind.
MGE_API void check_interruption();

// Whether all bytes went through before the deadline.
bool send_all(const Socket& socket, std::span<const std::byte> bytes, Deadline end);

}  // namespace mge
