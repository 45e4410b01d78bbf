// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pending work of prepared algorithms that is cheaper together: compiling code. The program passes a
// collector to its steps during compilation (SelectOptions::together) and finishes it at the end. An
// algorithm that is prepared alone has no collector; its work is done at its first run.

#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace mge {

class PrepareTogether {
public:
    using Part = std::shared_ptr<void>;
    using Finish = void (*)(std::span<const Part>);

    PrepareTogether() = default;
    PrepareTogether(const PrepareTogether&) = delete;
    PrepareTogether& operator=(const PrepareTogether&) = delete;

    // Adds a part for `finish`, which is called once with all of its parts.
    void leave(Finish finish, Part part) { left_[finish].push_back(std::move(part)); }
    // Exceptions of the calls are passed on.
    void finish() {
        for (auto& [finish, parts] : std::exchange(left_, {})) finish(parts);
    }

private:
    std::map<Finish, std::vector<Part>> left_;
};

}  // namespace mge
