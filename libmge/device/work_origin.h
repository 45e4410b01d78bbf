// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names the origin of queue work for error messages. Asynchronous work may fail after its caller has
// returned; its queue then keeps the error until the next wait and adds the origin's text.

#include <exception>
#include <memory>
#include <string>

#include "libmge/base/api.h"

namespace mge {

class MGE_API WorkOrigin {
public:
    virtual ~WorkOrigin() = default;
    virtual std::string text() const = 0;  // "add"; "graph 3, conv2d 'conv1'"
    // Returns true to take the error, if this work has a wait of its own. Otherwise the next wait on the
    // queue throws it.
    virtual bool keep(const std::exception_ptr&) const { return false; }
};

// The origin that the calling thread's queue work carries; nullptr if none is set. Asynchronous work holds a
// reference.
MGE_API std::shared_ptr<const WorkOrigin> work_origin();
MGE_API std::shared_ptr<const WorkOrigin> exchange_work_origin(std::shared_ptr<const WorkOrigin> origin);

// Sets the origin for the life of the scope.
class WorkOriginScope {
public:
    explicit WorkOriginScope(std::shared_ptr<const WorkOrigin> origin)
        : outer_(exchange_work_origin(std::move(origin))) {}
    ~WorkOriginScope() { exchange_work_origin(std::move(outer_)); }
    WorkOriginScope(const WorkOriginScope&) = delete;
    WorkOriginScope& operator=(const WorkOriginScope&) = delete;

private:
    std::shared_ptr<const WorkOrigin> outer_;
};

// Call inside a catch block. Returns the error with the origin's text for the queue to keep, or nullptr if
// the origin took it.
MGE_API std::exception_ptr fail_work(const WorkOrigin* origin);

}  // namespace mge
