// SPDX-License-Identifier: Apache-2.0
// How processes exchange tensors: through the host's memory, each with each, so that the parts of a sum are
// added in the order of the ranks and all processes have the same bits.
#include <algorithm>
#include <optional>

#include "libmge/comm/communicator.h"
#include "libmge/comm/nccl.h"
#include "libmge/device/stream_sharing.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/collective/collective.h"
#include "libmge/ops/collective/exchange_queue.h"
#include "libmge/ops/collective/host_exchange.h"
#include "libmge/ops/effect/on_host.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {

namespace {

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;
using Mode = CollectiveMode;

// Size of the blocks to reduce: data from the others waits in memory of that size.
constexpr size_t block_bytes = 4 << 20;
// Sums of so many bytes, of all processes together, are computed by each process.
constexpr size_t short_bytes = 32 << 10;

struct State {
    HostExchange exchange;
    size_t x_bytes, y_bytes;
    DeviceId device;
};

Prepared prepare(const PrepareContext& context) {
    auto& problem = context.problem;
    auto& p = problem.as<Collective::Params>();
    auto& same = p.mode == Mode::scatter ? problem.outputs[0] : problem.inputs[0];
    auto info = std::make_shared<const ExchangeInfo>(
        ExchangeInfo::Parts{.operation = std::string(EnumNames<Mode>::names[size_t(p.mode)]),
                            .dtype = text(same.dtype),
                            .shape = {same.shape.begin(), same.shape.end()},
                            .group = {p.ranks.begin(), p.ranks.end()},
                            .bytes = problem.inputs[0].bytes()});
    auto& x = problem.inputs[0];
    return Prepared::make(
        State{{p, x.dtype, std::move(info)}, x.bytes(), problem.outputs[0].bytes(), problem.device});
}

template <class T>
T combined(Mode mode, T a, T b) {
    // NaN stays NaN, in any order.
    if (mode == Mode::all_reduce_max) return b > a || b != b ? b : a;
    if (mode == Mode::all_reduce_min) return b < a || b != b ? b : a;
    return T(a + b);
}

// y of `count` elements from as many of each process, in the order of `parts`.
void reduce(DType dtype, Mode mode, const std::vector<const std::byte*>& parts, size_t count, std::byte* y) {
    dispatch_dtype(dtype, NumberTypes{}, [&](auto type) {
        using T = typename decltype(type)::type;
        using C = ComputedAs<T>;
        C sums[1024];
        for (size_t begin = 0; begin < count; begin += std::size(sums)) {
            size_t n = std::min(std::size(sums), count - begin);
            auto part = [&](size_t i) { return reinterpret_cast<const T*>(parts[i]) + begin; };
            std::copy_n(part(0), n, sums);
            for (size_t i = 1; i < parts.size(); ++i)
                for (size_t k = 0; k < n; ++k) sums[k] = combined(mode, sums[k], C(part(i)[k]));
            std::transform(sums, sums + n, reinterpret_cast<T*>(y) + begin, [](C sum) { return T(sum); });
        }
    });
}

// One exchange, on the thread of the engine.
class Run {
public:
    Run(const HostExchange& exchange, const Communicator::Move& move)
        : exchange_(exchange),
          move_(move),
          n_(exchange.params.ranks.size()),
          me_(size_t(exchange.params.rank)) {}

    void run(ConstBytes x, Bytes y) {
        switch (exchange_.params.mode) {
            case Mode::all_reduce_sum:
            case Mode::all_reduce_max:
            case Mode::all_reduce_min:
                return all_reduce(x, y);
            case Mode::reduce_sum:
                return reduce_to_first(x, y);
            case Mode::broadcast:
                return move([&](size_t) { return me_ == 0 ? x : ConstBytes{}; },
                            [&](size_t i) { return i == 0 ? y : Bytes{}; });
            case Mode::all_gather:
                return move([&](size_t) { return x; }, [&](size_t i) { return part(y, i); });
            case Mode::gather:
                return move([&](size_t i) { return i == 0 ? x : ConstBytes{}; },
                            [&](size_t i) { return me_ == 0 ? part(y, i) : Bytes{}; });
            case Mode::reduce_scatter_sum:
                return reduce_scatter(x, y);
            case Mode::scatter:
                return move([&](size_t i) { return me_ == 0 ? part(x, i) : ConstBytes{}; },
                            [&](size_t i) { return i == 0 ? y : Bytes{}; });
            case Mode::all_to_all:
                return move([&](size_t i) { return part(x, i); }, [&](size_t i) { return part(y, i); });
        }
    }

private:
    // Part i of n equal ones.
    template <class Byte>
    std::span<Byte> part(std::span<Byte> all, size_t i) const {
        size_t bytes = all.size() / n_;
        return all.subspan(i * bytes, bytes);
    }
    // Part i of n that are as equal as whole elements allow.
    template <class Byte>
    std::span<Byte> share(std::span<Byte> all, size_t i) const {
        size_t element = size_of(exchange_.dtype), count = all.size() / element;
        size_t begin = count * i / n_, end = count * (i + 1) / n_;
        return all.subspan(begin * element, (end - begin) * element);
    }

    // Sends given(i) to each process and receives taken(i) from it; the part for this process is copied.
    void move(auto&& given, auto&& taken) {
        std::vector<Transfer> transfers;
        for (size_t i = 0; i < n_; ++i) {
            ConstBytes from = given(i);
            Bytes to = taken(i);
            if (i != me_)
                transfers.push_back({int(exchange_.params.ranks[i]), from, to});
            else if (from.size() == to.size() && from.data() != to.data())
                std::ranges::copy(from, to.begin());
        }
        if (n_ > 1) move_(transfers);
    }

    // y is the reduction of given(i) of all processes, in the order of their ranks.
    void reduce_parts(auto&& given, Bytes y) {
        received_.resize(n_ * y.size());
        std::vector<const std::byte*> parts(n_);
        for (size_t i = 0; i < n_; ++i)
            parts[i] = i == me_ ? given(i).data() : received_.data() + i * y.size();
        move([&](size_t i) { return i == me_ ? ConstBytes{} : given(i); },
             [&](size_t i) { return i == me_ ? Bytes{} : Bytes(received_).subspan(i * y.size(), y.size()); });
        reduce(exchange_.dtype, exchange_.params.mode, parts, y.size() / size_of(exchange_.dtype), y.data());
    }

    void for_each_block(size_t bytes, auto&& fn) {
        for (size_t begin = 0; begin < bytes || begin == 0; begin += block_bytes)
            fn(begin, std::min(block_bytes, bytes - begin));
    }

    // Each process reduces its share and sends it to all. Short tensors are reduced by every process, which
    // takes one message instead of two.
    void all_reduce(ConstBytes x, Bytes y) {
        if (x.size() * n_ <= short_bytes) return reduce_parts([&](size_t) { return x; }, y);
        for_each_block(x.size(), [&](size_t begin, size_t bytes) {
            ConstBytes from = x.subspan(begin, bytes);
            Bytes to = y.subspan(begin, bytes);
            reduce_parts([&](size_t i) { return share(from, i); }, share(to, me_));
            move([&](size_t) { return ConstBytes(share(to, me_)); }, [&](size_t i) { return share(to, i); });
        });
    }

    // The same, but the first process receives all shares.
    void reduce_to_first(ConstBytes x, Bytes y) {
        std::vector<std::byte> mine;
        for_each_block(x.size(), [&](size_t begin, size_t bytes) {
            ConstBytes from = x.subspan(begin, bytes);
            mine.resize(share(from, me_).size());
            reduce_parts([&](size_t i) { return share(from, i); }, mine);
            move([&](size_t i) { return i == 0 ? ConstBytes(mine) : ConstBytes{}; },
                 [&](size_t i) { return me_ == 0 ? share(y.subspan(begin, bytes), i) : Bytes{}; });
        });
    }

    void reduce_scatter(ConstBytes x, Bytes y) {
        for_each_block(y.size(), [&](size_t begin, size_t bytes) {
            reduce_parts([&](size_t i) { return part(x, i).subspan(begin, bytes); }, y.subspan(begin, bytes));
        });
    }

    const HostExchange& exchange_;
    const Communicator::Move& move_;
    size_t n_, me_;
    std::vector<std::byte> received_;
};

void run(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    OnHost x(state.device, launch, 0, state.x_bytes);
    ConstBytes from(static_cast<const std::byte*>(x.data()), state.x_bytes);
    if (state.device.is_host())
        return exchange_on_host(state.exchange, from, {launch.out<std::byte>(0), state.y_bytes});
    std::vector<std::byte> y(state.y_bytes);
    exchange_on_host(state.exchange, from, y);
    launch.queue->copy_from_host(launch.outputs[0], y.data(), y.size());
}

std::optional<NcclType> nccl_type(DType dtype, bool is_reduction) {
    static constexpr std::pair<DType, NcclType> types[] = {
        {DType::u8, NcclType::u8},     {DType::i8, NcclType::i8},   {DType::u32, NcclType::u32},
        {DType::i32, NcclType::i32},   {DType::u64, NcclType::u64}, {DType::i64, NcclType::i64},
        {DType::f16, NcclType::f16},   {DType::f32, NcclType::f32}, {DType::f64, NcclType::f64},
        {DType::bf16, NcclType::bf16},
    };
    auto* found = std::ranges::find(types, dtype, &std::pair<DType, NcclType>::first);
    if (found != std::end(types)) return found->second;
    if (is_reduction) return std::nullopt;
    return NcclType::u8;  // moved as bytes
}

struct NcclWork {
    Nccl::Operation operation;
    NcclReduction reduction = NcclReduction::sum;
    bool is_reduction = false;
};
NcclWork nccl_work(Mode mode) {
    using enum Nccl::Operation;
    switch (mode) {
        case Mode::all_reduce_sum:
            return {all_reduce, NcclReduction::sum, true};
        case Mode::all_reduce_max:
            return {all_reduce, NcclReduction::max, true};
        case Mode::all_reduce_min:
            return {all_reduce, NcclReduction::min, true};
        case Mode::reduce_sum:
            return {reduce, NcclReduction::sum, true};
        case Mode::reduce_scatter_sum:
            return {reduce_scatter, NcclReduction::sum, true};
        case Mode::broadcast:
            return {broadcast};
        case Mode::all_gather:
            return {all_gather};
        case Mode::gather:
            return {gather};
        case Mode::scatter:
            return {scatter};
        case Mode::all_to_all:
            return {all_to_all};
    }
    MGE_CHECK(false);
}

Support nccl_works(const Problem& problem) {
    if (problem.device.is_host() || !nccl()) return {"NCCL is not open, or the device is not a GPU"};
    auto& p = problem.as<Collective::Params>();
    if (!nccl_type(problem.inputs[0].dtype, nccl_work(p.mode).is_reduction))
        return {"NCCL has no such dtype"};
    return plain_layouts(problem);
}

bool is_sum(const Problem& problem) {
    auto work = nccl_work(problem.as<Collective::Params>().mode);
    return work.is_reduction && work.reduction == NcclReduction::sum;
}

Support nccl_moves(const Problem& problem) {
    return is_sum(problem) ? Support{"it is a sum"} : nccl_works(problem);
}
Support nccl_sums(const Problem& problem) {
    return is_sum(problem) ? nccl_works(problem) : Support{"it is no sum"};
}

// The host only enqueues: the data stays on the device, and the queue continues when the exchange is done.
void enqueue_on_device(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    auto* queue = dynamic_cast<StreamSharingQueue*>(launch.queue);
    auto library = nccl();
    if (!queue || !library) throw_user(Collective::name, "NCCL is closed, or the queue has no stream");
    auto& [params, dtype, info] = state.exchange;
    auto [operation, reduction, is_reduction] = nccl_work(params.mode);
    auto type = *nccl_type(dtype, is_reduction);
    size_t element = type == NcclType::u8 ? 1 : size_of(dtype);
    library->enqueue({.info = info,
                      .position = int(params.rank),
                      .operation = operation,
                      .reduction = reduction,
                      .type = type,
                      .x = launch.inputs[0],
                      .y = launch.outputs[0],
                      .x_count = state.x_bytes / element,
                      .y_count = state.y_bytes / element,
                      .stream = reinterpret_cast<void*>(queue->stream_address())},
                     [&]() -> std::function<void()> {
                         return [done = launch.queue->record()] {
                             if (done) done->wait();
                         };
                     });
}

}  // namespace

void exchange_on_host(const HostExchange& exchange, ConstBytes x, Bytes y) {
    auto& [mode, ranks, position] = exchange.params;
    if (ranks.size() == 1) return Run(exchange, {}).run(x, y);
    auto processes = communicator();
    auto largest = *std::ranges::max_element(ranks);
    if (!processes || largest >= processes->size())
        throw_user(Collective::name, text("there is no process ", largest, ": ",
                                          processes ? "the group has fewer" : "this one has no others"));
    if (ranks[size_t(position)] != processes->rank())
        throw_user(Collective::name, text("this is process ", processes->rank(), ", not ",
                                          ranks[size_t(position)], " of the operator's parameters"));
    ExchangeQueue::of_process().wait_for_all();
    processes->exchange(exchange.info,
                        [&](const Communicator::Move& move) { Run(exchange, move).run(x, y); });
}

KernelList kernels(Cpu, Collective) {
    static constexpr Algorithm list[] = {
        {"nccl", nccl_moves, prepare, enqueue_on_device, {.unmeasured = true}},
        // The order of its sums depends on the number of processes and on their network.
        {"nccl_sum", nccl_sums, prepare, enqueue_on_device, {.reproducible = false, .unmeasured = true}},
        {"through_the_host", plain_layouts, prepare, run, {.unmeasured = true}},
    };
    return list;
}

}  // namespace mge::ops
