// SPDX-License-Identifier: Apache-2.0
// Gloo over TCP (https://github.com/facebookincubator/gloo). It neither encrypts nor authenticates: anyone
// who reaches its ports can take the place of a process.
#include <gloo/context.h>
#include <gloo/transport/context.h>
#include <gloo/transport/tcp/device.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libmge/base/error.h"
#include "libmge/comm/engine.h"

namespace mge {
namespace {

// Messages between two processes keep their order within a slot.
constexpr uint64_t data_slot = 0, first_report_slot = 1;
// A wait that ends by Gloo's own limit closes all connections, and no report can be sent. So the limit of an
// exchange is watched by Communicator, and Gloo's is far away.
constexpr std::chrono::hours gloo_limit(10'000);
constexpr std::chrono::seconds connect_limit(300);
// Long transfers are cut into messages of this size: the limit applies to each.
constexpr size_t largest_message = 8 << 20;

using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

// One message on its way.
struct Message {
    int rank;
    bool is_sent;
    Buffer buffer;
};

// "127.0.0.1:4711"; empty if it is not an address of the Internet.
std::string address_text(const sockaddr_storage& address) {
    char host[NI_MAXHOST], port[NI_MAXSERV];
    int code = ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), sizeof address, host, sizeof host,
                             port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    return code == 0 ? text(host, ":", port) : "";
}

// Gloo's form of an address begins with that of bind(2).
std::string address_text(const std::string& bytes) {
    sockaddr_storage address{};
    std::memcpy(&address, bytes.data(), std::min(sizeof address, bytes.size()));
    return address_text(address);
}

// The sockets of this process that are bound or connected to one of the addresses. Gloo does not reveal them.
std::vector<int> find_sockets(std::span<const std::string> addresses) {
    std::set<std::string> wanted;
    for (auto& address : addresses) wanted.insert(address_text(address));
    std::vector<int> found;
    std::error_code ignored;
    for (auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
        int descriptor = std::stoi(entry.path().filename());
        for (auto* name : {&::getsockname, &::getpeername}) {
            sockaddr_storage address{};
            socklen_t size = sizeof address;
            if (name(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) continue;
            if (!wanted.contains(address_text(address))) continue;
            found.push_back(descriptor);
            break;
        }
    }
    return found;
}

class Gloo final : public Communicator {
public:
    explicit Gloo(const EngineSettings& settings) {
        set_place(settings.rank, settings.size);
        gloo::transport::tcp::attr attributes(settings.host.c_str());
        device_ = gloo::transport::tcp::CreateDevice(attributes);
        context_ = device_->createContext(settings.rank, settings.size);
        context_->setTimeout(connect_limit);  // it has none to begin with, and pairs take over what it has
        for (int other = 0; other < size(); ++other)
            if (other != rank()) context_->createPair(other);
    }
    std::string_view engine() const override { return "gloo"; }

    // The addresses of its pairs, by the rank at the other end; all have one size.
    std::string address() const override {
        std::string all;
        for (int other = 0; other < size(); ++other) {
            auto bytes = context_->getPair(other == rank() ? some_other() : other)->address().bytes();
            all.append(bytes.begin(), bytes.end());
        }
        return all;
    }

private:
    void connect(std::span<const std::string> addresses, Milliseconds) override {
        for (int other = 0; other < size(); ++other) {
            if (other == rank()) continue;
            auto& theirs = addresses[size_t(other)];
            size_t bytes = theirs.size() / size_t(size());
            auto mine = theirs.substr(size_t(rank()) * bytes, bytes);
            try {
                context_->getPair(other)->connect({mine.begin(), mine.end()});
            } catch (const std::exception& e) {
                throw UserError(text("cannot connect with process ", other, " over gloo: ", e.what()));
            }
        }
        descriptors_ = find_sockets(addresses);
        for (int kind = 0; kind < Report::kinds; ++kind) {
            reports_[kind].resize(size_t(size()));
            for (int other = 0; other < size(); ++other) {
                if (other == rank()) continue;
                auto& report = reports_[kind][size_t(other)];
                auto& buffer =
                    report_buffers_.emplace_back(context_->createUnboundBuffer(&report, sizeof report));
                buffer->recv(other, first_report_slot + uint64_t(kind), 0, sizeof report);
            }
        }
    }

    void close_in_child() const override {
        for (int descriptor : descriptors_) ::close(descriptor);
    }

    int some_other() const { return rank() == 0 ? 1 : 0; }

    void transfer_messages(std::span<const Transfer> transfers) override {
        {
            std::lock_guard lock(mutex_);
            messages_.clear();
            for (auto& [other, send, receive] : transfers) {
                for (size_t at = 0; at < receive.size(); at += largest_message)
                    add(other, false, receive.subspan(at));
                for (size_t at = 0; at < send.size(); at += largest_message)
                    add(other, true, send.subspan(at));
            }
        }
        for (auto& message : messages_) finish_message(message);
    }

    template <class Byte>
    void add(int other, bool is_sent, std::span<Byte> bytes) {
        size_t count = std::min(bytes.size(), largest_message);
        auto* data = const_cast<std::byte*>(bytes.data());
        auto& message = messages_.emplace_back(other, is_sent, context_->createUnboundBuffer(data, count));
        auto& pair = context_->getPair(other);
        try {
            if (is_sent)
                pair->send(message.buffer.get(), data_slot, 0, count);
            else
                pair->recv(message.buffer.get(), data_slot, 0, count);
        } catch (const std::exception&) {
            throw_gone(other);
        }
    }

    void finish_message(const Message& message) {
        waits_for(message.rank);
        bool is_done = false;
        try {
            is_done =
                message.is_sent ? message.buffer->waitSend(gloo_limit) : message.buffer->waitRecv(gloo_limit);
        } catch (const std::exception&) {
            throw_gone(message.rank);
        }
        if (!is_done) throw_stopped({message.rank});
        progressed();
    }

    void abort() override {
        std::lock_guard lock(mutex_);
        for (auto& message : messages_)
            message.is_sent ? message.buffer->abortWaitSend() : message.buffer->abortWaitRecv();
    }

    const Report* received_report(Report::Kind kind, int rank) const override {
        if (reports_[kind].empty()) return nullptr;
        auto& report = reports_[kind][size_t(rank)];
        return std::atomic_ref(report.sender).load(std::memory_order_acquire) < 0 ? nullptr : &report;
    }

    // Does not wait until it is sent: a wait that ends by Gloo's limit would close the connections.
    void send_report(Report::Kind kind, const Report& report) override {
        sent_[kind] = report;
        for (int other = 0; other < size(); ++other) {
            if (other == rank()) continue;
            auto buffer = context_->createUnboundBuffer(&sent_[kind], sizeof report);
            try {
                buffer->send(other, first_report_slot + uint64_t(kind), 0, sizeof report);
                report_buffers_.push_back(std::move(buffer));
            } catch (const std::exception&) {  // it has left before
            }
        }
    }

    // A closed connection loses what is on its way. The destructor of the device does not lose anything.
    void leave() override {
        for (int other = 0; other < size(); ++other)
            if (auto& pair = context_->getPair(other); other != rank() && pair) pair->close();
        std::lock_guard lock(mutex_);
        messages_.clear();
    }

    std::shared_ptr<gloo::transport::Device> device_;
    std::shared_ptr<gloo::transport::Context> context_;
    mutable std::array<std::vector<Report>, Report::kinds> reports_;  // received, by rank
    std::array<Report, Report::kinds> sent_;
    std::vector<Buffer> report_buffers_;
    std::vector<int> descriptors_;  // sockets of the connections
    std::mutex mutex_;              // between abort() and the engine's thread
    std::vector<Message> messages_;
};

}  // namespace
}  // namespace mge

extern "C" MGE_API mge::Communicator* mge_open_engine(const mge::EngineSettings& settings) {
    try {
        return new mge::Gloo(settings);
    } catch (const std::exception& e) {
        throw mge::UserError(mge::text("cannot use gloo at ", settings.host, ": ", e.what()));
    }
}
