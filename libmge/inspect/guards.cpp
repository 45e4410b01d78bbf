// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/guards.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "libmge/device/device.h"
#include "libmge/graph/origins.h"
#include "libmge/inspect/value_names.h"

namespace mge {
namespace {

constexpr auto repeat_guard = "check-var-value";
constexpr unsigned char patterns[] = {0xa5, 0x5a};
// More unwritten elements of one value give no new information.
constexpr size_t kept_suspicious = 64;

std::string message(const GuardFinding& f) {
    return text('[', f.guard, "] output '", f.output, "' of step ", f.step, " (", operator_text(f.op, f.name),
                ", algorithm ", f.algorithm, "): element ", f.index, ' ', index_text(f.shape, f.index),
                " is ", element_text(f.value), ' ', f.why);
}

GuardFinding at_step(const Program& program, size_t step, const std::string& path, std::string guard,
                     const std::string& output) {
    auto& report = program.steps()[step];
    GuardFinding finding;
    finding.guard = std::move(guard);
    finding.op = report.op;
    finding.name = path + report.name;
    finding.algorithm = report.algorithm;
    finding.output = path + output;
    finding.step = step;
    return finding;
}

bool is_bad(double value, const std::optional<double>& range) {
    return range ? !(std::abs(value) < *range) : !std::isfinite(value);
}

// Index of the first bad element of a plain tensor; −1 if there is none.
int64_t first_bad(const Tensor& plain, const std::optional<double>& range) {
    int64_t found = -1;
    for_each_element(plain, [&](int64_t i, double value) {
        if (found < 0 && is_bad(value, range)) found = i;
    });
    return found;
}

// The memory as it is, padding of a blocked layout included, as a row of numbers.
Tensor as_row(const Tensor& tensor) {
    auto n = int64_t(tensor.spec().bytes() / size_of(tensor.dtype()));
    return {{tensor.dtype(), {n}, {}}, borrow_storage(tensor.data(), tensor.spec().bytes(), nullptr)};
}

bool overlap(const Tensor& a, const Tensor& b) {
    auto *x = static_cast<const char*>(a.address()), *y = static_cast<const char*>(b.address());
    return x < y + b.spec().bytes() && y < x + a.spec().bytes();
}

bool holds(const Tensor& plain, int64_t index, unsigned char pattern) {
    auto* bytes = static_cast<const unsigned char*>(plain.data()) + size_t(index) * size_of(plain.dtype());
    return std::all_of(bytes, bytes + size_of(plain.dtype()), [&](auto b) { return b == pattern; });
}

}  // namespace

GuardError::GuardError(GuardFinding finding)
    : Error(ErrorCode::accuracy, ErrorClass::runtime, message(finding)), finding_(std::move(finding)) {}

ValueGuard::ValueGuard(std::shared_ptr<const Program> program, std::optional<double> range)
    : program_(std::move(program)),
      range_(range),
      labels_(value_labels(*program_)),
      was_read_(program_->values().size()) {}

void ValueGuard::before_step(size_t step, Context& context) {
    for (ValueId id : program_->steps()[step].inputs) {
        if (id == no_value || was_read_[size_t(id)]) continue;
        auto place = program_->values()[size_t(id)].place;
        if (place != ValueReport::Place::input && place != ValueReport::Place::constant) continue;
        was_read_[size_t(id)] = true;
        check(step, id, context);
    }
}

void ValueGuard::after_step(size_t step, Context& context) {
    for (ValueId id : program_->steps()[step].outputs) check(step, id, context);
}

StepObserver* ValueGuard::inside(const InnerRun& run, Context& inner) {
    auto& guard =
        inside_.of(inner, [&](auto program) { return std::make_unique<ValueGuard>(program, range_); });
    guard.path_ = path_ + path_inside(run);
    // Inputs have a new value each time.
    for (auto& port : inner.program().inputs()) guard.was_read_[size_t(port.value)] = false;
    return &guard;
}

void ValueGuard::check(size_t step, ValueId id, Context& context) {
    Tensor tensor = context.value(id);
    if (!tensor || !is_float(tensor.dtype())) return;
    if (tensor.device().is_host() && first_bad(as_row(tensor), range_) < 0) return;
    Tensor plain = plain_on_host(tensor);
    int64_t index = first_bad(plain, range_);
    if (index < 0) return;  // padding
    auto finding = at_step(*program_, step, path_, range_ ? "range" : "check-finite", labels_[size_t(id)]);
    auto place = program_->values()[size_t(id)].place;
    if (place == ValueReport::Place::input) finding.op = "input of " + finding.op;
    if (place == ValueReport::Place::constant) finding.op = "weight of " + finding.op;
    finding.index = index;
    finding.shape = plain.shape();
    finding.value = element_at(plain, index);
    finding.why = range_ ? text("(magnitudes must be below ", *range_, ')') : "(not finite)";
    throw GuardError(std::move(finding));
}

RepeatGuard::RepeatGuard(std::shared_ptr<const Program> program, int interval, size_t start)
    : program_(std::move(program)),
      interval_(size_t(interval)),
      at_(start),
      labels_(value_labels(*program_)),
      inside_(
          [this](const InsideValue& value) {
              if (Tensor now = value.context.value(value.id))
                  look(first_inside_[value.name()], now,
                       at_step(value.context.program(), value.step, value.path, repeat_guard, value.label));
          },
          iterations) {
    for (size_t step = 0; step < program_->steps().size(); ++step)
        for (ValueId id : program_->steps()[step].outputs) values_.push_back({step, id});
    if (start >= values_.size())
        throw_user("--check-var-value",
                   text("there is no value ", start, "; the program has ", values_.size()),
                   ErrorClass::index);
    first_.resize(values_.size());
}

void RepeatGuard::look(Tensor& first, const Tensor& now, GuardFinding finding) const {
    Tensor plain = plain_on_host(now);
    if (runs_ == 0) {
        first = copy_plain(plain);
        return;
    }
    if (!first) return;
    finding.shape = plain.shape();
    if (!(plain.spec() == first.spec())) {
        finding.why = text("(it is ", plain.spec(), ", in the first run it was ", first.spec(), ')');
        throw GuardError(std::move(finding));
    }
    size_t width = size_of(plain.dtype());
    auto *a = static_cast<const char*>(plain.data()), *b = static_cast<const char*>(first.data());
    for (int64_t k = 0; k < plain.spec().numel(); ++k) {
        if (std::memcmp(a + size_t(k) * width, b + size_t(k) * width, width) == 0) continue;
        finding.index = k;
        finding.value = element_at(plain, k);
        finding.why =
            text("in run ", runs_ + 1, ", in the first it was ", element_text(element_at(first, k)));
        throw GuardError(std::move(finding));
    }
}

StepObserver* RepeatGuard::inside(const InnerRun& run, Context& inner) {
    bool is_looked_at = runs_ == 0 || values_[at_].step == run.step;
    if (!is_looked_at) return nullptr;
    return inside_.at(run, inner);
}

void RepeatGuard::after_step(size_t step, Context& context) {
    for (size_t i = 0; i < values_.size(); ++i) {
        if (values_[i].step != step || (runs_ > 0 && i != at_)) continue;
        if (Tensor now = context.value(values_[i].id))
            look(first_[i], now, at_step(*program_, step, {}, repeat_guard, labels_[size_t(values_[i].id)]));
    }
    if (step + 1 != program_->steps().size()) return;
    if (runs_ > 0 && runs_ % interval_ == 0) at_ = (at_ + 1) % values_.size();
    ++runs_;
}

WriteGuard::WriteGuard(std::shared_ptr<const Program> program)
    : program_(std::move(program)),
      labels_(value_labels(*program_)),
      is_filled_(program_->values().size()),
      suspicious_(program_->values().size()) {}

bool WriteGuard::may_fill(size_t step, const Tensor& output, Context& context) const {
    for (ValueId id : program_->steps()[step].inputs)
        if (id != no_value)
            if (Tensor input = context.value(id); input && overlap(output, input)) return false;
    return true;
}

StepObserver* WriteGuard::inside(const InnerRun& run, Context& inner) {
    auto& guard = inside_.of(inner, [](auto program) { return std::make_unique<WriteGuard>(program); });
    guard.path_ = path_ + path_inside(run);
    return &guard;
}

void WriteGuard::before_step(size_t step, Context& context) {
    for (ValueId id : program_->steps()[step].outputs) {
        auto place = program_->values()[size_t(id)].place;
        bool is_planned = place == ValueReport::Place::arena || place == ValueReport::Place::output;
        Tensor output = is_planned ? context.value(id) : Tensor{};
        is_filled_[size_t(id)] = output && may_fill(step, output, context);
        if (is_filled_[size_t(id)])
            queue_of(output.device()).fill(output.address(), patterns[runs_ % 2], output.spec().bytes());
    }
}

void WriteGuard::after_step(size_t step, Context& context) {
    for (ValueId id : program_->steps()[step].outputs) {
        if (!is_filled_[size_t(id)]) continue;
        Tensor plain = plain_on_host(context.value(id));
        auto& suspicious = suspicious_[size_t(id)];
        if (runs_ % 2 == 1) {
            for (int64_t index : suspicious) {
                if (!holds(plain, index, patterns[1])) continue;
                auto finding = at_step(*program_, step, path_, "check-dispatch", labels_[size_t(id)]);
                finding.index = index;
                finding.shape = plain.shape();
                finding.value = element_at(plain, index);
                finding.why = "because the operator never wrote it";
                throw GuardError(std::move(finding));
            }
            continue;
        }
        suspicious.clear();
        for (int64_t i = 0, n = plain.spec().numel(); i < n && suspicious.size() < kept_suspicious; ++i)
            if (holds(plain, i, patterns[0])) suspicious.push_back(i);
    }
    if (step + 1 == program_->steps().size()) ++runs_;
}

}  // namespace mge
