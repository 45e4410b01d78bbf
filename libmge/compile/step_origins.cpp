// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/step_origins.h"

#include <utility>

#include "libmge/base/error.h"
#include "libmge/compile/memory/location.h"

namespace mge {

void KeptErrors::keep(std::exception_ptr error) {
    std::lock_guard lock(mutex_);
    if (!first_) first_ = std::move(error);
    has_any_ = true;
}

void KeptErrors::rethrow_first() {
    std::unique_lock lock(mutex_);
    auto error = std::exchange(first_, nullptr);
    has_any_ = false;
    lock.unlock();
    if (error) std::rethrow_exception(error);
}

std::string step_text(const Program& program, size_t step, const InnerPlace* place) {
    if (place) return operator_text(program.steps()[step]);
    return text("graph ", program.id(), ", ", operator_text(program.steps()[step]));
}

class StepOrigins::Origin final : public WorkOrigin {
public:
    Origin(const StepOrigins& all, size_t step) : all_(all), step_(step) {}
    std::string text() const override { return step_text(*all_.program_, step_); }
    bool keep(const std::exception_ptr& error) const override {
        if (all_.is_waited_for_) all_.errors_.keep(error);
        return all_.is_waited_for_;
    }

private:
    const StepOrigins& all_;
    size_t step_;
};

// "graph 3, scan 'scan1': body[7]: add 'add1'"
class StepOrigins::InnerOrigin final : public WorkOrigin {
public:
    InnerOrigin(std::shared_ptr<const WorkOrigin> outer, const InnerPlace& place,
                std::shared_ptr<const Program> program, size_t step)
        : outer_(std::move(outer)), place_(place), program_(std::move(program)), step_(step) {}
    std::string text() const override {
        return mge::text(outer_->text(), ": ", place_.text(), ": ", step_text(*program_, step_, &place_));
    }
    bool keep(const std::exception_ptr& error) const override { return outer_->keep(error); }

private:
    std::shared_ptr<const WorkOrigin> outer_;
    InnerPlace place_;
    std::shared_ptr<const Program> program_;
    size_t step_;
};

StepOrigins::StepOrigins(std::shared_ptr<const Program> program, bool is_waited_for)
    : program_(std::move(program)), is_waited_for_(is_waited_for) {
    if (are_on_host(program_->places())) return;
    for (size_t i = 0; i < program_->steps().size(); ++i)
        origins_.push_back(std::make_unique<Origin>(*this, i));
}

StepOrigins::~StepOrigins() = default;

std::shared_ptr<const WorkOrigin> StepOrigins::of_step(size_t step, const InnerPlace* place) const {
    if (place)
        if (auto outer = work_origin())
            return std::make_shared<InnerOrigin>(std::move(outer), *place, program_, step);
    if (origins_.empty()) return nullptr;
    return {shared_from_this(), origins_[step].get()};
}

}  // namespace mge
