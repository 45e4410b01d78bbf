// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libmge/compile/run/inside.h"

namespace mge {

// A result inside of a step, when it is there.
struct InsideValue {
    Context& context;  // context of the inner graph
    size_t step;
    ValueId id;
    const std::string &path, &label;  // "scan#1/body[3]/", and the label of the value in that graph
    std::string name() const { return path + label; }
};

// Reports all results inside of steps, at any depth: observers that identify values by path return it as the
// observer of inner runs.
class MGE_API InsideValues final : public StepObserver {
public:
    // Reports the first `iterations` of each loop.
    explicit InsideValues(std::function<void(const InsideValue&)> report,
                          int64_t iterations = std::numeric_limits<int64_t>::max());
    // The observer of that run, whose graph has this path.
    StepObserver* at(const InnerRun& run, Context& inner, const std::string& path = {});

    void after_step(size_t step, Context& context) override;
    StepObserver* inside(const InnerRun& run, Context& inner) override {
        return deeper().at(run, inner, path_);
    }

private:
    InsideValues& deeper();

    std::function<void(const InsideValue&)> report_;
    int64_t iterations_;
    std::string path_;
    // They keep their programs, so that no other one gets the address.
    std::map<std::shared_ptr<const Program>, std::vector<std::string>> labels_of_;
    const std::vector<std::string>* labels_ = nullptr;  // labels of the current program
    std::unique_ptr<InsideValues> deeper_;
};

}  // namespace mge
