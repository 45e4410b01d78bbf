// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "libmge/compile/program.h"

namespace mge {

// Several observers as one. They nest: the last one is called next to the step, so its times exclude the work
// of the others.
class MGE_API ObserverList final : public StepObserver {
public:
    ObserverList();
    ~ObserverList() override;
    ObserverList(ObserverList&&) noexcept;
    ObserverList& operator=(ObserverList&&) noexcept;

    void add(StepObserver& observer) { observers_.push_back(&observer); }
    void remove(StepObserver& observer) { std::erase(observers_, &observer); }
    void clear() { observers_.clear(); }
    bool is_empty() const { return observers_.empty(); }
    // Returns nullptr without observers, the only observer, or this list.
    StepObserver* as_one() { return observers_.size() > 1 ? this : is_empty() ? nullptr : observers_[0]; }
    const std::vector<StepObserver*>& all() const { return observers_; }

    void before_run(Context& context) override;
    void after_run(Context& context) override;
    void after_failure(const std::exception_ptr& error, Context& context) override;
    void before_step(size_t step, Context& context) override;
    void after_step(size_t step, Context& context) override;
    void allocated(const Allocation& allocation, Context& context) override;
    StepObserver* inside(const InnerRun& run, Context& inner) override;

private:
    std::vector<StepObserver*> observers_;
    std::unique_ptr<ObserverList> inside_;  // labels of the current inner run
};

}  // namespace mge
