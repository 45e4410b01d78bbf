// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/inside_values.h"

#include <utility>

#include "libmge/inspect/value_names.h"

namespace mge {

InsideValues::InsideValues(std::function<void(const InsideValue&)> report, int64_t iterations)
    : report_(std::move(report)), iterations_(iterations) {}

InsideValues& InsideValues::deeper() {
    if (!deeper_) deeper_ = std::make_unique<InsideValues>(report_, iterations_);
    return *deeper_;
}

StepObserver* InsideValues::at(const InnerRun& run, Context& inner, const std::string& path) {
    if (run.iteration >= iterations_) return nullptr;
    path_ = path + path_inside(run);
    auto program = inner.program().shared_from_this();
    auto& labels = labels_of_[program];
    if (labels.empty()) labels = value_labels(*program);
    labels_ = &labels;
    return this;
}

void InsideValues::after_step(size_t step, Context& context) {
    for (ValueId id : context.program().steps()[step].outputs)
        report_({context, step, id, path_, (*labels_)[size_t(id)]});
}

}  // namespace mge
