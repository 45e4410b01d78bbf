// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whose work a queue does. Work that is done later than it was asked for fails when nobody is there to catch
// the error: the queue keeps it until somebody waits, and the error says where it belongs.

#include <exception>
#include <memory>
#include <string>

#include "libmge/base/api.h"

namespace mge {

class MGE_API WorkOrigin {
public:
    virtual ~WorkOrigin() = default;
    virtual std::string text() const = 0;  // "add"; "graph 3, conv2d 'conv1'"
    // Takes the error if somebody waits for this work alone; else the queue tells it whoever waits there.
    virtual bool keep(const std::exception_ptr&) const { return false; }
};

// What the calling thread asks queues for; null when nobody has said it. Work that is done later keeps it.
MGE_API std::shared_ptr<const WorkOrigin> work_origin();
MGE_API std::shared_ptr<const WorkOrigin> exchange_work_origin(std::shared_ptr<const WorkOrigin> origin);

// For the life of the scope.
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

// In a handler: the error with the origin's text, for the queue to keep; null when the origin has kept it.
MGE_API std::exception_ptr fail_work(const WorkOrigin* origin);

}  // namespace mge
