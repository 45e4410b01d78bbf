// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/reference.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "libmge/base/number_text.h"
#include "libmge/compile/plain.h"
#include "libmge/graph/halves.h"
#include "libmge/graph/origins.h"
#include "libmge/inspect/elements.h"
#include "libmge/inspect/io_dump/io_dump_origin.h"
#include "libmge/kernel/cpu/in_other_dtype.h"
#include "libmge/passes/channel_order.h"

namespace mge {
namespace {

// Half of the last digit that a text dump writes, relative to the number.
constexpr double head_rounding = 5.1e-4, figure_rounding = 5.1e-3;

class StoredReference final : public Reference {
public:
    StoredReference(std::vector<std::string> names, std::function<Tensor(const std::string&)> read)
        : names_(names.begin(), names.end()), read_(std::move(read)) {}

    bool has(const std::string& key) const override { return names_.contains(key); }
    std::optional<Comparison> compare(const std::string& key, const Tensor& got,
                                      const Tolerance& tolerance) override {
        if (!has(key)) return std::nullopt;
        return compare_tensors(got, load(key), tolerance);
    }
    Tensor load(const std::string& key) override { return has(key) ? read_(key) : Tensor{}; }

private:
    std::set<std::string> names_;
    std::function<Tensor(const std::string&)> read_;
};

class DumpReference final : public Reference {
public:
    DumpReference(const std::string& path, const std::vector<SourceNode>& operators)
        : dump_(read_io_dump(path, false)) {
        MatchedOperators matched(operators, operators_of(dump_));
        for (auto& record : dump_.records) {
            // A name that was derived from another graph's numbers may denote another value here.
            if (record.origin.values.empty()) by_key_[record.name] = &record;
            for (auto& origin : record.origin.values)
                if (NodeId number = matched.number(origin.node); number >= 0)
                    by_key_[origin_key({number, origin.output})] = &record;
        }
    }

    bool has(const std::string& key) const override { return by_key_.contains(key); }
    std::string name(const std::string& key) const override { return by_key_.at(key)->name; }
    std::optional<Comparison> compare(const std::string& key, const Tensor& got,
                                      const Tolerance& tolerance) override {
        if (!has(key)) return std::nullopt;
        if (dump_.is_text) return compare_with_text(got, *by_key_.at(key), tolerance);
        return compare_tensors(got, load(key), tolerance);
    }
    Tensor load(const std::string& key) override {
        if (!has(key) || dump_.is_text) return {};
        return read_binary_record(by_key_.at(key)->path).value;
    }

private:
    IoDump dump_;
    std::map<std::string, const DumpRecord*> by_key_;
};

class WalkReference final : public Reference {
public:
    WalkReference(std::unique_ptr<LayerWalk> walk, ValueKeys keys, std::map<std::string, size_t> last_use)
        : walk_(std::move(walk)),
          last_use_(std::move(last_use)),
          keys_(std::move(keys)),
          is_behind_halves_(behind_halves(walk_->graph())) {
        for (auto& of_value : keys_) coming_.insert(of_value.begin(), of_value.end());
        take_values();
    }

    bool has(const std::string& key) const override {
        return coming_.contains(key) || held_.contains(key) || inside_.contains(key);
    }
    std::optional<Comparison> compare(const std::string& key, const Tensor& got,
                                      const Tolerance& tolerance) override {
        Tensor value = load(key);
        if (!value) return std::nullopt;
        Tolerance both = tolerance;
        if (auto it = held_.find(key); it != held_.end())
            both.is_rounded_to_half |= it->second.is_rounded_to_half;
        return compare_tensors(got, value, both);
    }
    Tensor load(const std::string& key) override {
        if (auto it = inside_.find(key); it != inside_.end()) return it->second;
        if (!has(key)) return {};
        while (!held_.contains(key) && walk_->done() < walk_->step_count()) {
            walk_->run_next();
            rounds_ |= walk_->algorithm().starts_with(cpu::in_rounded.prefix);
            take_values();
        }
        auto it = held_.find(key);
        if (it == held_.end()) return {};
        return in_source_order(walk_->graph(), it->second.id, plain_on_host(it->second.value));
    }
    std::optional<std::string> enter(const std::string& key, const std::string&) override {
        size_t done = walk_->done();
        if (!done || !walk_->holds_graphs(done - 1) || !makes(done - 1, key)) return std::nullopt;
        std::string prefix = key + '/';
        Tensors inputs;
        for (ValueId id : walk_->node(done - 1).inputs)
            inputs.push_back(id == no_value ? Tensor{} : walk_->value(id));
        size_t own = node_label(walk_->graph(), walk_->node(done - 1)).size() + 1;
        InsideValues inside(
            [&](const InsideValue& value) {
                if (Tensor now = value.context.value(value.id))
                    inside_[prefix + value.name().substr(own)] = copy_plain(plain_on_host(now));
            },
            iterations);
        walk_->run_inside(done - 1, inputs, inside);
        return prefix;
    }
    void release_before(size_t step) override {
        std::erase_if(held_, [&](auto& entry) { return last_use_.at(entry.first) < step; });
        inside_.clear();
    }

private:
    // The step gives the value of that key.
    bool makes(size_t step, const std::string& key) const {
        return std::ranges::any_of(walk_->node(step).outputs, [&](ValueId id) {
            return std::ranges::find(keys_[size_t(id)], key) != keys_[size_t(id)].end();
        });
    }
    void take_values() {
        for (size_t i = 0; i < keys_.size(); ++i) {
            if (!walk_->value(ValueId(i))) continue;
            for (auto& key : keys_[i])
                if (coming_.erase(key) && last_use_.contains(key))
                    held_[key] = {ValueId(i), walk_->value(ValueId(i)), rounds_ || is_behind_halves_[i]};
        }
    }

    std::unique_ptr<LayerWalk> walk_;
    std::map<std::string, size_t> last_use_;
    ValueKeys keys_;
    std::vector<bool> is_behind_halves_;  // by value
    bool rounds_ = false;                 // a step so far has rounded factors to bf16
    std::set<std::string> coming_;        // not computed yet
    struct Held {
        ValueId id;
        Tensor value;
        bool is_rounded_to_half;
    };
    std::map<std::string, Held> held_;
    std::map<std::string, Tensor> inside_;  // values inside the entered step
};

}  // namespace

// Files identify inner values by path.
std::optional<std::string> Reference::enter(const std::string&, const std::string& name) {
    return name + '/';
}

std::unique_ptr<Reference> stored_reference(std::vector<std::string> names,
                                            std::function<Tensor(const std::string&)> read) {
    return std::make_unique<StoredReference>(std::move(names), std::move(read));
}

std::unique_ptr<Reference> dump_reference(const std::string& path, const std::vector<SourceNode>& operators) {
    return std::make_unique<DumpReference>(path, operators);
}

std::unique_ptr<Reference> walk_reference(std::unique_ptr<LayerWalk> walk, ValueKeys keys,
                                          std::map<std::string, size_t> last_use) {
    return std::make_unique<WalkReference>(std::move(walk), std::move(keys), std::move(last_use));
}

Comparison compare_with_text(const Tensor& got, const DumpRecord& record, const Tolerance& tolerance) {
    Comparison result;
    bool is_scalar = got.shape().rank() == 0 && record.shape.numel() == 1;
    if (!(got.shape() == record.shape) && !is_scalar) {
        result.mismatch = text("it has shape ", got.shape(), ", expected ", record.shape);
        return result;
    }
    result.count = int64_t(record.head.size());
    if (result.count > got.spec().numel()) {
        result.mismatch =
            text("it has ", counted(got.spec().numel(), "element"), ", the dump shows ", result.count);
        return result;
    }
    TensorFigures figures = figures_of(got);
    double largest = std::max(std::abs(record.min), std::abs(record.max));
    bool is_short = tolerance.is_rounded_to_half || is_half(got.dtype());
    double allowed = tolerance.atol +
                     tolerance.rtol.value_or(is_short ? 1e-2 : 1e-4) * (std::isfinite(largest) ? largest : 0);
    // Errors count from where rounding in the text ends.
    auto error_beyond = [](double a, double b, double rounding) {
        if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b) ? 0.0 : HUGE_VAL;
        if (a == b) return 0.0;
        if (std::isinf(b)) return HUGE_VAL;
        return std::max(0.0, std::abs(a - b) - rounding * std::abs(b));
    };
    for (size_t i = 0; i < record.head.size(); ++i) {
        double a = element_at(got, int64_t(i)), b = record.head[i];
        double error = error_beyond(a, b, head_rounding);
        result.unequal += error > 0;
        result.error = std::max(result.error, error);
        if (!result.largest || error > result.largest->error) result.largest = {int64_t(i), a, b, error};
        if (error <= allowed) continue;
        ++result.beyond;
        if (!result.first_beyond) result.first_beyond = result.largest;
    }
    auto compare_figure = [&](double a, double b) {
        double error = record.has_figures ? error_beyond(a, b, figure_rounding) : 0;
        if (error <= result.error) return;
        result.error = error;
        result.largest.reset();  // it is not the largest
    };
    bool is_finite = !figures.not_a_number && !figures.infinite;
    // In a dump one element that is not finite spoils the mean.
    compare_figure(is_finite ? figures.rms : figures.not_a_number ? NAN : HUGE_VAL, record.rms);
    if (is_finite) compare_figure(figures.min, record.min), compare_figure(figures.max, record.max);
    result.errors[size_t(Metric::max_abs)] = result.error;
    result.limit = allowed;
    return result;
}

}  // namespace mge
