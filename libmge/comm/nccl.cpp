// SPDX-License-Identifier: Apache-2.0
#include "libmge/comm/nccl.h"

#include <dlfcn.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <exception>
#include <utility>

#include "libmge/base/error.h"
#include "libmge/base/threads/per_process.h"

namespace mge {
namespace {

constexpr std::chrono::milliseconds settle_interval(1);

using Result = int;
constexpr Result success = 0, in_progress = 7;

size_t size_of(NcclType type) {
    switch (type) {
        case NcclType::i8:
        case NcclType::u8:
            return 1;
        case NcclType::f16:
        case NcclType::bf16:
            return 2;
        case NcclType::i64:
        case NcclType::u64:
        case NcclType::f64:
            return 8;
        default:
            return 4;
    }
}

PerProcess<std::shared_ptr<Nccl>>& own_nccl() {
    static PerProcess<std::shared_ptr<Nccl>> own;
    return own;
}

}  // namespace

// The types of nccl.h, which is not needed to build.
struct NcclUniqueId {
    char bytes[128];
};
// The fields that version 2.14 knows; later versions accept fewer fields than their own.
struct NcclConfig {
    size_t size = sizeof(NcclConfig);
    unsigned magic = 0xcafebeef;
    unsigned version = 21400;
    int blocking = 0;
    int cluster_size = INT_MIN, min_blocks = INT_MIN, max_blocks = INT_MIN;  // undefined
    const char* net_name = nullptr;
};

struct NcclFunctions {
    Result (*ncclGetUniqueId)(NcclUniqueId*);
    Result (*ncclCommInitRankConfig)(void**, int, NcclUniqueId, int, NcclConfig*);
    Result (*ncclCommGetAsyncError)(void*, Result*);
    Result (*ncclCommAbort)(void*);
    Result (*ncclCommFinalize)(void*);
    Result (*ncclCommDestroy)(void*);
    const char* (*ncclGetErrorString)(Result);
    Result (*ncclGroupStart)();
    Result (*ncclGroupEnd)();
    Result (*ncclAllReduce)(const void*, void*, size_t, NcclType, NcclReduction, void*, void*);
    Result (*ncclReduce)(const void*, void*, size_t, NcclType, NcclReduction, int, void*, void*);
    Result (*ncclBroadcast)(const void*, void*, size_t, NcclType, int, void*, void*);
    Result (*ncclAllGather)(const void*, void*, size_t, NcclType, void*, void*);
    Result (*ncclReduceScatter)(const void*, void*, size_t, NcclType, NcclReduction, void*, void*);
    Result (*ncclSend)(const void*, size_t, NcclType, int, void*, void*);
    Result (*ncclRecv)(void*, size_t, NcclType, int, void*, void*);
};

Nccl::Nccl(const std::string& library, std::shared_ptr<Communicator> processes,
           std::chrono::milliseconds limit)
    : functions_(std::make_unique<NcclFunctions>()), processes_(std::move(processes)), limit_(limit) {
    void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        throw UserError(text("cannot open NCCL: ", ::dlerror(),
                             "; install NVIDIA's Python package nvidia-nccl-cu13 ",
                             "(or -cu12 for a driver of CUDA 12) and name its folder in LD_LIBRARY_PATH"));
    auto take = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
        if (!function)
            throw UserError(text(library, " has no function ", name, ": NCCL 2.14 or newer is needed"));
    };
    auto& f = *functions_;
    take(f.ncclGetUniqueId, "ncclGetUniqueId");
    take(f.ncclCommInitRankConfig, "ncclCommInitRankConfig");
    take(f.ncclCommGetAsyncError, "ncclCommGetAsyncError");
    take(f.ncclCommAbort, "ncclCommAbort");
    take(f.ncclCommFinalize, "ncclCommFinalize");
    take(f.ncclCommDestroy, "ncclCommDestroy");
    take(f.ncclGetErrorString, "ncclGetErrorString");
    take(f.ncclGroupStart, "ncclGroupStart");
    take(f.ncclGroupEnd, "ncclGroupEnd");
    take(f.ncclAllReduce, "ncclAllReduce");
    take(f.ncclReduce, "ncclReduce");
    take(f.ncclBroadcast, "ncclBroadcast");
    take(f.ncclAllGather, "ncclAllGather");
    take(f.ncclReduceScatter, "ncclReduceScatter");
    take(f.ncclSend, "ncclSend");
    take(f.ncclRecv, "ncclRecv");
    watching_ = std::thread([this] { watch(); });
}

Nccl::~Nccl() {
    {
        std::lock_guard lock(watch_mutex_);
        is_ending_ = true;
    }
    changed_.notify_one();
    if (watching_.joinable()) watching_.join();  // after the exchanges on their way
    for (auto& [ranks, communicator] : groups_) {
        if (!communicator) continue;
        try {
            settle(functions_->ncclCommFinalize(communicator), communicator, "end");
            functions_->ncclCommDestroy(communicator);
        } catch (const std::exception&) {  // it is aborted
        }
    }
}

void Nccl::enqueue(const Call& call, const std::function<std::function<void()>()>& record) {
    std::lock_guard lock(mutex_);
    if (!failure_.empty()) throw UserError(text("an exchange by NCCL has failed before: ", failure_));
    void* communicator = find_group(call);
    launch(call, communicator);
    Pending pending{call.info, communicator, record(), std::chrono::steady_clock::now() + limit_};
    {
        std::lock_guard watch_lock(watch_mutex_);
        pending_.push_back(std::move(pending));
    }
    changed_.notify_one();
}

void* Nccl::find_group(const Call& call) {
    auto& ranks = call.info->parts().group;
    if (ranks.size() > 1 && !compared_.contains(call.info->hash())) compare(call.info);
    void*& communicator = groups_[ranks];
    if (communicator) return communicator;
    NcclUniqueId id{};
    if (call.position == 0) settle(functions_->ncclGetUniqueId(&id), nullptr, "begin");
    if (ranks.size() > 1) {
        auto bytes = std::as_writable_bytes(std::span(id.bytes));
        std::vector<Transfer> transfers;
        for (size_t i = 0; i < ranks.size(); ++i) {
            if (int(i) == call.position) continue;
            auto& transfer = transfers.emplace_back(Transfer{int(ranks[i]), {}, {}});
            if (call.position == 0) transfer.send = bytes;
            if (i == 0) transfer.receive = bytes;
        }
        auto info = std::make_shared<const ExchangeInfo>(
            ExchangeInfo::Parts{.operation = "connection by NCCL", .group = ranks, .bytes = sizeof id});
        processes_->exchange(info, transfers);
    }
    NcclConfig config;
    void* made = nullptr;
    auto code = functions_->ncclCommInitRankConfig(&made, int(ranks.size()), id, call.position, &config);
    settle(code, made, "connect");
    return communicator = made;
}

// Exchanges of a kind that was seen before are not compared: that would make the host wait.
void Nccl::compare(const std::shared_ptr<const ExchangeInfo>& info) {
    if (!processes_) throw UserError("NCCL has no other processes");
    std::vector<Transfer> transfers;
    for (int64_t rank : info->parts().group)
        if (rank != processes_->rank()) transfers.push_back({int(rank), {}, {}});
    processes_->exchange(info, transfers);
    compared_.insert(info->hash());
}

void Nccl::launch(const Call& c, void* communicator) {
    auto& f = *functions_;
    auto start = [&]() -> Result {
        switch (c.operation) {
            case Operation::all_reduce:
                return f.ncclAllReduce(c.x, c.y, c.x_count, c.type, c.reduction, communicator, c.stream);
            case Operation::reduce:
                return f.ncclReduce(c.x, c.y, c.x_count, c.type, c.reduction, 0, communicator, c.stream);
            case Operation::broadcast:
                return f.ncclBroadcast(c.x, c.y, c.x_count, c.type, 0, communicator, c.stream);
            case Operation::all_gather:
                return f.ncclAllGather(c.x, c.y, c.x_count, c.type, communicator, c.stream);
            case Operation::reduce_scatter:
                return f.ncclReduceScatter(c.x, c.y, c.y_count, c.type, c.reduction, communicator, c.stream);
            default:
                return -1;
        }
    };
    if (Result code = start(); code >= 0) return settle(code, communicator, "exchange");
    send_parts(c, communicator);
}

// Process i sends part j of its x to process j, or the whole, if the group's root is at one end only.
void Nccl::send_parts(const Call& c, void* communicator) {
    auto& f = *functions_;
    size_t n = c.info->parts().group.size();
    bool is_root = c.position == 0;
    bool sends_to_all =
        c.operation == Operation::all_to_all || (c.operation == Operation::scatter && is_root);
    bool takes_from_all =
        c.operation == Operation::all_to_all || (c.operation == Operation::gather && is_root);
    auto* x = static_cast<const char*>(c.x);
    auto* y = static_cast<char*>(c.y);
    size_t sent = sends_to_all ? c.x_count / n : c.x_count,
           taken = takes_from_all ? c.y_count / n : c.y_count;
    settle(f.ncclGroupStart(), nullptr, "exchange");
    for (size_t i = 0; i < n; ++i) {
        int peer = int(i);
        if (sends_to_all || (c.operation == Operation::gather && i == 0)) {
            auto* part = x + (sends_to_all ? i * sent * size_of(c.type) : 0);
            settle(f.ncclSend(part, sent, c.type, peer, communicator, c.stream), nullptr, "send");
        }
        if (takes_from_all || (c.operation == Operation::scatter && i == 0)) {
            auto* part = y + (takes_from_all ? i * taken * size_of(c.type) : 0);
            settle(f.ncclRecv(part, taken, c.type, peer, communicator, c.stream), nullptr, "receive");
        }
    }
    settle(f.ncclGroupEnd(), communicator, "exchange");
}

void Nccl::settle(int code, void* communicator, const char* action) {
    auto end = std::chrono::steady_clock::now() + limit_;
    while (code == in_progress && communicator) {
        if (functions_->ncclCommGetAsyncError(communicator, &code) != success) break;
        if (code != in_progress) break;
        if (std::chrono::steady_clock::now() > end)
            fail(text("NCCL cannot ", action, ": no answer for ", double(limit_.count()) / 1000, " s"));
        std::this_thread::sleep_for(settle_interval);
    }
    if (code != success && code != in_progress)
        fail(text("NCCL cannot ", action, ": ", functions_->ncclGetErrorString(code)));
}

// The caller holds mutex_.
void Nccl::fail(const std::string& message) {
    if (failure_.empty()) {
        failure_ = message;
        abort_all();
        if (processes_) processes_->close(message);
    }
    throw UserError(failure_);
}

void Nccl::abort_all() noexcept {
    for (auto& [ranks, communicator] : groups_)
        if (communicator) functions_->ncclCommAbort(std::exchange(communicator, nullptr));
}

void Nccl::watch() {
    std::unique_lock lock(watch_mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return is_ending_ || !pending_.empty(); });
        if (pending_.empty()) return;
        Pending pending = std::move(pending_.front());
        pending_.pop_front();
        lock.unlock();
        watch(pending);
        lock.lock();
    }
}

void Nccl::watch(const Pending& pending) {
    std::string message;
    auto has_failed = [&] {
        std::lock_guard lock(mutex_);
        if (!failure_.empty()) return false;  // it is aborted already
        Result code = success;
        functions_->ncclCommGetAsyncError(pending.communicator, &code);
        if (code != success && code != in_progress) message = functions_->ncclGetErrorString(code);
        if (std::chrono::steady_clock::now() > pending.end)
            message = text("no answer for ", double(limit_.count()) / 1000, " s (MGE_DISTRIBUTED_TIMEOUT)");
        if (processes_ && processes_->has_failed()) message = "another process has failed";
        return !message.empty();
    };
    auto abort = [&] {
        std::lock_guard lock(mutex_);
        try {
            fail(text("[", pending.info->label(), "] ", message));
        } catch (const UserError&) {  // the next exchange throws it
        }
    };
    try {
        waiting_.run(pending.wait, has_failed, abort);
    } catch (const std::exception&) {  // the queue's own users get it, too
    }
}

std::shared_ptr<Nccl> nccl() { return own_nccl().get(); }
void set_nccl(std::shared_ptr<Nccl> nccl) { own_nccl().get() = std::move(nccl); }

}  // namespace mge
