// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/run/observer_list.h"

#include <vector>

namespace mge {
namespace {

// Calls the observers in reverse order.
template <class Fn>
void backwards(const std::vector<StepObserver*>& observers, Fn&& notify) {
    for (auto it = observers.rbegin(); it != observers.rend(); ++it) notify(**it);
}

}  // namespace

std::string graph_text(std::string_view graph, int64_t iteration) {
    return iteration < 0 ? std::string(graph) : text(graph, '[', iteration, ']');
}

ObserverList::ObserverList() = default;
ObserverList::~ObserverList() = default;
ObserverList::ObserverList(ObserverList&&) noexcept = default;
ObserverList& ObserverList::operator=(ObserverList&&) noexcept = default;

void ObserverList::before_run(Context& context) {
    for (auto* observer : observers_) observer->before_run(context);
}
void ObserverList::after_run(Context& context) {
    backwards(observers_, [&](auto& observer) { observer.after_run(context); });
}
void ObserverList::after_failure(const std::exception_ptr& error, Context& context) {
    backwards(observers_, [&](auto& observer) { observer.after_failure(error, context); });
}
void ObserverList::before_step(size_t step, Context& context) {
    for (auto* observer : observers_) observer->before_step(step, context);
}
void ObserverList::after_step(size_t step, Context& context) {
    backwards(observers_, [&](auto& observer) { observer.after_step(step, context); });
}
void ObserverList::allocated(const Allocation& allocation, Context& context) {
    for (auto* observer : observers_) observer->allocated(allocation, context);
}

StepObserver* ObserverList::inside(const InnerRun& run, Context& inner) {
    if (!inside_) inside_ = std::make_unique<ObserverList>();
    inside_->clear();
    for (auto* observer : observers_)
        if (auto* inner_observer = observer->inside(run, inner)) inside_->add(*inner_observer);
    return inside_->as_one();
}

}  // namespace mge
