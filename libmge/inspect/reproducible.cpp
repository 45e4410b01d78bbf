// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/reproducible.h"

#include <cstring>

#include "libmge/base/error.h"
#include "libmge/base/hash.h"
#include "libmge/graph/origins.h"
#include "libmge/inspect/elements.h"
#include "libmge/inspect/value_names.h"

namespace mge {
namespace {

uint64_t sum_of(const Tensor& tensor) {
    if (!tensor) return 0;
    Tensor plain = plain_on_host(tensor);  // padding of a layout does not count
    return hash_mix(checksum(plain.data(), plain.spec().bytes()), checksum(text(plain.spec())));
}

// Checksums of all results, step by step.
class OutputSums final : public StepObserver {
public:
    explicit OutputSums(const Program& program) : program_(program) {}
    void after_step(size_t step, Context& context) override {
        for (ValueId id : program_.steps()[step].outputs) sums.push_back(sum_of(context.value(id)));
    }
    std::vector<uint64_t> sums;

private:
    const Program& program_;
};

class Capture final : public StepObserver {
public:
    Capture(size_t step, ValueId id) : step_(step), id_(id) {}
    void after_step(size_t step, Context& context) override {
        if (step == step_) value = copy_plain(plain_on_host(context.value(id_)));
    }
    Tensor value;

private:
    size_t step_;
    ValueId id_;
};

class Checker {
public:
    Checker(const std::shared_ptr<const Program>& program, const std::function<void(Context&)>& load)
        : program_(program), load_(load) {}

    Reproducibility check(int runs) {
        Reproducibility result;
        result.steps = program_->steps().size();
        std::vector<uint64_t> first = sums_of_run();
        result.values = first.size();
        for (result.runs = 1; result.runs < runs && !result.difference; ++result.runs)
            result.difference = compare(first, sums_of_run(), result.runs + 1);
        return result;
    }

private:
    void run(StepObserver& observer) {
        auto context = Context::create(program_);
        load_(*context);
        context->observe(&observer);
        context->run();
    }

    std::vector<uint64_t> sums_of_run() {
        OutputSums observer(*program_);
        run(observer);
        return std::move(observer.sums);
    }

    std::optional<Unequal> compare(const std::vector<uint64_t>& first, const std::vector<uint64_t>& now,
                                   int number) {
        size_t at = 0;
        for (size_t step = 0; step < program_->steps().size(); ++step)
            for (ValueId id : program_->steps()[step].outputs) {
                if (first[at] != now[at]) return describe(step, id, number);
                ++at;
            }
        return std::nullopt;
    }

    Unequal describe(size_t step, ValueId id, int number) {
        auto& report = program_->steps()[step];
        Unequal result;
        result.step = step;
        result.op = report.op;
        result.name = report.name;
        result.algorithm = report.algorithm;
        result.output = value_labels(*program_)[size_t(id)];
        result.run = number;
        Capture a(step, id), b(step, id);
        run(a);
        run(b);
        if (!a.value || !b.value || !(a.value.spec() == b.value.spec())) return result;
        result.shape = a.value.shape();
        size_t width = size_of(a.value.dtype());
        auto *x = static_cast<const char*>(a.value.data()), *y = static_cast<const char*>(b.value.data());
        for (int64_t i = 0; i < a.value.spec().numel(); ++i) {
            if (std::memcmp(x + size_t(i) * width, y + size_t(i) * width, width) == 0) continue;
            result.index = i;
            result.first = element_at(a.value, i);
            result.now = element_at(b.value, i);
            break;
        }
        return result;
    }

    const std::shared_ptr<const Program>& program_;
    const std::function<void(Context&)>& load_;
};

}  // namespace

Reproducibility check_reproducible(const std::shared_ptr<const Program>& program,
                                   const std::function<void(Context&)>& load, int runs) {
    return Checker(program, load).check(runs);
}

std::string explain(const Unequal& d) {
    std::string result =
        text("run ", d.run, " differs from the first at step ", d.step, " (", operator_text(d.op, d.name),
             ", algorithm ", d.algorithm, "), output '", d.output, "'");
    if (d.index < 0) return result;
    return result + text(": element ", d.index, ' ', index_text(d.shape, d.index), " was ",
                         element_text(d.first), ", then ", element_text(d.now));
}

}  // namespace mge
