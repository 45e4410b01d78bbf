// SPDX-License-Identifier: Apache-2.0
#include "libmge/comm/communicator.h"

#include <utility>

#include "libmge/base/error.h"
#include "libmge/base/threads/at_fork.h"
#include "libmge/base/threads/per_process.h"

namespace mge {
namespace {

thread_local bool is_exchanging = false;

struct ExchangingScope {
    ExchangingScope() { is_exchanging = true; }
    ~ExchangingScope() { is_exchanging = false; }
    ExchangingScope(const ExchangingScope&) = delete;
    ExchangingScope& operator=(const ExchangingScope&) = delete;
};

PerProcess<std::shared_ptr<Communicator>>& own_communicator() {
    static PerProcess<std::shared_ptr<Communicator>> own(
        [](auto*) { return std::make_unique<std::shared_ptr<Communicator>>(); });
    return own;
}

// The handler of the child must not call own_communicator(), which is empty there.
constinit const Communicator* of_parent = nullptr;
const InChild close_communicator([] {
    if (of_parent) of_parent->close_in_child();
    of_parent = nullptr;
});

}  // namespace

Communicator::~Communicator() = default;

void Communicator::set_place(int rank, int size) {
    rank_ = rank;
    size_ = size;
}

std::unique_lock<std::mutex> Communicator::take_turn() {
    if (is_exchanging)
        throw UserError("an exchange between processes waits on this thread: none begins meanwhile");
    return std::unique_lock(turn_);
}

void Communicator::exchange(std::string_view what, std::span<const Transfer> transfers) {
    if (is_broken_)
        throw UserError(
            "an exchange between processes has failed before, and this one is no longer connected with them");
    ExchangingScope scope;
    try {
        transfer(what, transfers);
    } catch (...) {
        is_broken_ = true;
        leave();
        throw;
    }
}

void Communicator::close(bool has_failed) {
    is_broken_ = true;
    if (has_failed) leave();
}

std::shared_ptr<Communicator> communicator() { return own_communicator().get(); }

void set_communicator(std::shared_ptr<Communicator> communicator) {
    of_parent = communicator.get();
    own_communicator().get() = std::move(communicator);
}

}  // namespace mge
