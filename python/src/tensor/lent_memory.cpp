// SPDX-License-Identifier: Apache-2.0
#include "python/src/tensor/lent_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <list>
#include <mutex>

#include "libmge/base/error.h"
#include "libmge/eager/written_elsewhere.h"

namespace mge::python {
namespace {

class End {
public:
    explicit End(int descriptor) : descriptor_(descriptor) {}
    ~End() { close_now(); }
    End(const End&) = delete;
    int get() const { return descriptor_; }
    void close_now() {
        if (descriptor_ >= 0) ::close(descriptor_);
        descriptor_ = -1;
    }

private:
    int descriptor_;
};

struct Loan {
    StorageRef storage;
    SharedBlock block;
    End ours, sent;
    WrittenElsewhere written_elsewhere{storage.get()};

    Loan(StorageRef lent, SharedBlock block, int ours, int sent)
        : storage(std::move(lent)), block(std::move(block)), ours(ours), sent(sent) {}
    // Returns false if the receiver is done.
    bool is_held() {
        char byte;
        for (;;) {
            ssize_t count = ::read(ours.get(), &byte, 1);
            if (count == 1)
                sent.close_now();
            else if (count == 0)
                return false;
            else if (errno != EINTR)
                return true;
        }
    }
};

struct Loans {
    std::mutex mutex;
    std::list<Loan> all;
};

// Never destroyed: the GPU may be closed already at the end of the process.
Loans& loans() {
    static Loans& all = *std::make_unique<Loans>().release();
    return all;
}

}  // namespace

int lend(StorageRef storage, SharedBlock block) {
    collect_loans();
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        throw_user("share_memory", text("no pipe to lend memory with: ", std::strerror(errno)));
    auto& known = loans();
    std::lock_guard lock(known.mutex);
    known.all.emplace_back(std::move(storage), std::move(block), ends[0], ends[1]);
    return ends[1];
}

StorageRef find_lent(const SharedBlock& block) {
    auto& known = loans();
    std::lock_guard lock(known.mutex);
    for (auto& loan : known.all)
        if (loan.block.handle == block.handle && loan.block.offset == block.offset) return loan.storage;
    return {};
}

void collect_loans() {
    auto& known = loans();
    std::list<Loan> done;
    std::lock_guard lock(known.mutex);
    for (auto loan = known.all.begin(); loan != known.all.end();) {
        auto next = std::next(loan);
        if (!loan->is_held()) done.splice(done.end(), known.all, loan);
        loan = next;
    }
}

std::shared_ptr<const void> receive_loan(int descriptor) {
    auto end = std::make_shared<const End>(descriptor);
    // If the sender has ended, opening the memory will fail.
    [[maybe_unused]] ssize_t written = ::write(descriptor, "", 1);
    return end;
}

}  // namespace mge::python
