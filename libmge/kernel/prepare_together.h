// SPDX-License-Identifier: Apache-2.0
#pragma once
// What prepared algorithms still need before they run, where doing it once for many costs less than for each:
// texts that are compiled. Who prepares the steps of a program collects it, and has it done at the end. Who
// prepares one algorithm alone collects nothing; what it needs is done when it first runs.

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "libmge/base/api.h"

namespace mge {

// Collects what is left by the calling thread while it lives. One inside of another leaves all to that.
class MGE_API PrepareTogether {
public:
    using Part = std::shared_ptr<void>;
    using Finish = void (*)(std::span<const Part>);

    PrepareTogether();
    ~PrepareTogether();
    PrepareTogether(const PrepareTogether&) = delete;
    PrepareTogether& operator=(const PrepareTogether&) = delete;

    // For `finish`, which is called once with all parts that were left for it, if somebody collects.
    static void leave(Finish finish, Part part);
    // Throws what the calls throw.
    void finish();

private:
    PrepareTogether* outer_;
    std::map<Finish, std::vector<Part>> left_;
};

}  // namespace mge
