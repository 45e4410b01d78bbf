// SPDX-License-Identifier: Apache-2.0
#pragma once
// What prepared algorithms still need before they run, where doing it once for many costs less than for each:
// texts that are compiled. The program that is compiled passes a collector to its steps
// (SelectOptions::together) and finishes it at the end. An algorithm that is prepared alone has no collector;
// what it needs is done when it first runs.

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
    // Throws what the calls throw.
    void finish() {
        for (auto& [finish, parts] : std::exchange(left_, {})) finish(parts);
    }

private:
    std::map<Finish, std::vector<Part>> left_;
};

}  // namespace mge
