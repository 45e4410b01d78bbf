// SPDX-License-Identifier: Apache-2.0
// Gloo over TCP (https://github.com/facebookincubator/gloo). It neither encrypts nor authenticates: whoever
// reaches its ports can take the place of a process.
#include <gloo/context.h>
#include <gloo/transport/context.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "libmge/base/error.h"
#include "libmge/comm/engine.h"

namespace mge {
namespace {

constexpr uint64_t slot = 0;  // messages between two processes keep their order

constexpr std::chrono::seconds connect_limit(300);

// One message on its way.
struct Message {
    int rank;
    bool is_sent;
    std::unique_ptr<gloo::transport::UnboundBuffer> buffer;
};

class Gloo final : public MessageCommunicator {
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
    }

    int some_other() const { return rank() == 0 ? 1 : 0; }

    void transfer_messages(std::span<const Transfer> transfers, Deadline end) override {
        {
            std::lock_guard lock(mutex_);
            messages_.clear();
            for (auto& transfer : transfers) {
                if (!transfer.receive.empty())
                    add(transfer.rank, false, transfer.receive.data(), transfer.receive.size());
                if (!transfer.send.empty())
                    add(transfer.rank, true, const_cast<std::byte*>(transfer.send.data()),
                        transfer.send.size());
            }
        }
        for (size_t i = 0; i < messages_.size(); ++i) finish(i, end);
    }

    void add(int other, bool is_sent, std::byte* bytes, size_t count) {
        auto& message = messages_.emplace_back(other, is_sent, context_->createUnboundBuffer(bytes, count));
        auto& pair = context_->getPair(other);
        try {
            if (is_sent)
                pair->send(message.buffer.get(), slot, 0, count);
            else
                pair->recv(message.buffer.get(), slot, 0, count);
        } catch (const std::exception&) {
            throw_closed(other);
        }
    }

    void finish(size_t i, Deadline end) {
        auto& message = messages_[i];
        using std::chrono::steady_clock;
        auto left = std::chrono::ceil<Milliseconds>(end - steady_clock::now());
        left = std::max(left, Milliseconds(1));  // Gloo takes 0 for no limit
        bool is_done = false;
        try {
            is_done = message.is_sent ? message.buffer->waitSend(left) : message.buffer->waitRecv(left);
        } catch (const std::exception&) {
            if (steady_clock::now() >= end) throw_silent({&message.rank, 1});
            throw_closed(message.rank);
        }
        if (!is_done) throw UserError("an exchange between processes was interrupted");
    }

    [[noreturn]] static void throw_closed(int other) {
        throw UserError(text("process ", other, " is gone: it has ended, or its connection is lost"));
    }

    void abort() override {
        std::lock_guard lock(mutex_);
        for (auto& message : messages_)
            message.is_sent ? message.buffer->abortWaitSend() : message.buffer->abortWaitRecv();
    }

    // Closes at once, so that the others notice; bytes on their way may be lost. The destructor does not lose
    // any.
    void leave() override {
        for (int other = 0; other < size(); ++other)
            if (auto& pair = context_->getPair(other); other != rank() && pair) pair->close();
        std::lock_guard lock(mutex_);
        messages_.clear();
    }

    std::shared_ptr<gloo::transport::Device> device_;
    std::shared_ptr<gloo::transport::Context> context_;
    std::mutex mutex_;  // between abort() and the engine's thread
    std::vector<Message> messages_;
};

}  // namespace
}  // namespace mge

extern "C" MGE_API mge::MessageCommunicator* mge_open_engine(const mge::EngineSettings& settings) {
    try {
        return new mge::Gloo(settings);
    } catch (const std::exception& e) {
        throw mge::UserError(mge::text("cannot use gloo at ", settings.host, ": ", e.what()));
    }
}
