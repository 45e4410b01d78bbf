// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <span>

#include "libmge/base/api.h"
#include "libmge/comm/exchange_info.h"
#include "libmge/ops/collective/collective.h"

namespace mge::ops {

// One exchange of host memory between the processes of a group.
struct HostExchange {
    Collective::Params params;
    DType dtype;
    std::shared_ptr<const ExchangeInfo> info;  // names the exchange to the other processes
};

// Exchanges `x` on the calling thread; the result is written to `y`. For all_reduce modes, both may be the
// same memory. Waits for the exchanges of ExchangeQueue that began earlier, so that all processes exchange in
// one order. UserError: there is no such process, or the exchange has failed (Communicator::exchange).
MGE_API void exchange_on_host(const HostExchange& exchange, std::span<const std::byte> x,
                              std::span<std::byte> y);

}  // namespace mge::ops
