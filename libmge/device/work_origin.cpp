// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/work_origin.h"

#include <utility>

#include "libmge/base/rethrow.h"

namespace mge {
namespace {

thread_local std::shared_ptr<const WorkOrigin> origin_of_thread;

}  // namespace

std::shared_ptr<const WorkOrigin> work_origin() { return origin_of_thread; }

std::shared_ptr<const WorkOrigin> exchange_work_origin(std::shared_ptr<const WorkOrigin> origin) {
    return std::exchange(origin_of_thread, std::move(origin));
}

std::exception_ptr fail_work(const WorkOrigin* origin) {
    if (!origin) return std::current_exception();
    try {
        rethrow_in(origin->text());
    } catch (...) {
        auto error = std::current_exception();
        return origin->keep(error) ? nullptr : error;
    }
}

}  // namespace mge
