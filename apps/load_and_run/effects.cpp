// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/effects.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "libmge/base/hash.h"

namespace mge::load_and_run {
namespace {

bool has_layout(const Program& program, const Layout& layout) {
    return std::ranges::any_of(program.values(), [&](auto& value) { return value.spec.layout == layout; });
}

// The flag of a format: NCHW44_DOT → --enable-nchw44-dot.
std::string flag_of(std::string format) {
    for (char& c : format) c = c == '_' ? '-' : char(std::tolower(uint8_t(c)));
    return "--enable-" + format;
}

// Takes a checksum of each value when a step has written it, and looks again at every step that reads it.
class SanityCheck : public StepObserver {
public:
    explicit SanityCheck(const Program& program) : program_(program) {}

    void before_step(size_t i, Context& context) override {
        for (ValueId id : program_.steps()[i].inputs) expect_unchanged(id, i, "before", context);
    }
    void after_step(size_t i, Context& context) override {
        auto& step = program_.steps()[i];
        std::set<std::pair<ValueReport::Place, size_t>> written;
        for (ValueId id : step.outputs)
            if (id != no_value) written.insert(place(id));
        // A result may take the place of an input: that one is gone, and was meant to be.
        for (ValueId id : step.inputs)
            if (id != no_value && !written.contains(place(id))) expect_unchanged(id, i, "after", context);
        for (ValueId id : step.outputs)
            if (auto sum = sum_of(id, context)) sums_[id] = {*sum, i};
    }
    size_t values() const { return sums_.size(); }

private:
    std::pair<ValueReport::Place, size_t> place(ValueId id) const {
        auto& value = program_.values()[size_t(id)];
        if (value.place == ValueReport::Place::dynamic) return {value.place, size_t(id)};
        return {value.place, value.offset};
    }
    std::optional<uint64_t> sum_of(ValueId id, Context& context) const {
        if (id == no_value) return std::nullopt;
        Tensor value = context.value(id);
        if (!value) return std::nullopt;
        return checksum(value.data(), value.spec().bytes());
    }
    void expect_unchanged(ValueId id, size_t reader, const char* when, Context& context) {
        auto it = sums_.find(id);
        if (it == sums_.end()) return;
        auto [sum, writer] = it->second;
        auto now = sum_of(id, context);
        // A value made at run time is released by its last reader.
        if (!now || *now == sum) return;
        auto& steps = program_.steps();
        throw InternalError(text("the value '", program_.values()[size_t(id)].name, "' of step ", writer,
                                 " (", steps[writer].op, ", ", steps[writer].algorithm, ") has changed ",
                                 when, " step ", reader, " (", steps[reader].op, ", ",
                                 steps[reader].algorithm, ") read it"));
    }

    struct Sum {
        uint64_t sum;
        size_t writer;
    };
    const Program& program_;
    std::map<ValueId, Sum> sums_;
};

}  // namespace

void note_options_without_effect(Job& job, Test& test) {
    if (test.index > 0) return;
    auto& o = job.options.graph;
    for (auto& format : o.formats)
        if (!has_layout(*test.program, Layout::named(format)))
            job.ignore_option(flag_of(format), "no kernel of this device works on this model in that layout");
    bool is_dynamic = std::ranges::any_of(
        test.program->values(), [](auto& value) { return value.place == ValueReport::Place::dynamic; });
    if (o.record_level() == 1 && is_dynamic)
        job.ignore_option("--record-comp-seq", "the model finds out shapes at run time");
}

void check_sanity(Job& job, Test& test) {
    if (test.index > 0) return;
    if (job.options.graph.no_sanity_check) {
        job.report["sanity_check"] = {{"skipped", true}};
        return;
    }
    SanityCheck check(*test.program);
    test.context->observe(&check);
    try {
        test.context->run();
    } catch (...) {
        test.context->observe(nullptr);
        throw;
    }
    test.context->observe(nullptr);
    job.report["sanity_check"] = {{"values", check.values()}};
}

}  // namespace mge::load_and_run
