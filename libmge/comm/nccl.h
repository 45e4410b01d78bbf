// SPDX-License-Identifier: Apache-2.0
#pragma once
// NCCL moves data between the memories of GPUs, on their queues: the host only enqueues the work. Its library
// is opened at run time. The host's Communicator connects the processes of a group, compares each kind of
// exchange when it is seen first, and reports failures.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "libmge/base/api.h"
#include "libmge/comm/communicator.h"

namespace mge {

// The numbers of nccl.h.
enum class NcclType : int {
    i8 = 0,
    u8 = 1,
    i32 = 2,
    u32 = 3,
    i64 = 4,
    u64 = 5,
    f16 = 6,
    f32 = 7,
    f64 = 8,
    bf16 = 9
};
enum class NcclReduction : int { sum = 0, max = 2, min = 3 };

struct NcclFunctions;

class MGE_API Nccl {
public:
    // Opens `library`, such as "libnccl.so.2". UserError names the package to install if it cannot be opened.
    // An exchange that is not done within `limit` fails. Without a communicator there are groups of one
    // process only.
    Nccl(const std::string& library, std::shared_ptr<Communicator> processes,
         std::chrono::milliseconds limit);
    ~Nccl();
    Nccl(const Nccl&) = delete;
    Nccl& operator=(const Nccl&) = delete;

    enum class Operation {
        all_reduce,
        reduce,
        broadcast,
        all_gather,
        gather,
        reduce_scatter,
        scatter,
        all_to_all
    };
    // Addresses are those of the current device. The first process of the group is the root.
    struct Call {
        std::shared_ptr<const ExchangeInfo> info;
        int position;  // that of this process in the group
        Operation operation;
        NcclReduction reduction = NcclReduction::sum;
        NcclType type;
        const void* x;
        void* y;
        size_t x_count, y_count;  // elements
        void* stream;             // a cudaStream_t
    };
    // Enqueues an exchange. `record`, called afterwards, returns a function that waits until the stream has
    // done it; another thread calls that one. UserError if an earlier exchange has failed, which also ends
    // the host's connections.
    void enqueue(const Call& call, const std::function<std::function<void()>()>& record);

private:
    struct Pending {
        std::shared_ptr<const ExchangeInfo> info;
        void* communicator;
        std::function<void()> wait;
        std::chrono::steady_clock::time_point end;
    };

    void* find_group(const Call& call);
    void compare(const std::shared_ptr<const ExchangeInfo>& info);
    void launch(const Call& call, void* communicator);
    void send_parts(const Call& call, void* communicator);
    // Waits until the library has accepted a call, which it may do in the background. Inside of a group of
    // calls, there is no communicator to wait for.
    void settle(int code, void* communicator, const char* action);
    [[noreturn]] void fail(const std::string& message);
    void abort_all() noexcept;
    void watch();
    void watch(const Pending& pending);

    std::unique_ptr<NcclFunctions> functions_;
    std::shared_ptr<Communicator> processes_;
    std::chrono::milliseconds limit_;

    std::mutex mutex_;                              // for calls of the library, and the following
    std::map<std::vector<int64_t>, void*> groups_;  // ncclComm_t by ranks
    std::set<uint64_t> compared_;  // hashes of exchanges that all processes have named before
    std::string failure_;

    // Exchanges on their way, oldest first, which watch() waits for.
    std::mutex watch_mutex_;
    std::condition_variable changed_;
    std::deque<Pending> pending_;
    bool is_ending_ = false;
    EngineThread waiting_;
    std::thread watching_;
};

// The NCCL of this process, or null.
MGE_API std::shared_ptr<Nccl> nccl();
MGE_API void set_nccl(std::shared_ptr<Nccl> nccl);

}  // namespace mge
