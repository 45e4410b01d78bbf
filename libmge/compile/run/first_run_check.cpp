// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/run/first_run_check.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "libmge/base/error.h"
#include "libmge/base/hash.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/device/device.h"
#include "libmge/graph/origins.h"
#include "libmge/kernel/cpu/parallel.h"

namespace mge {
namespace {

// The checksum of a large value is that of its parts' checksums, which threads share.
uint64_t sum_of_bytes(const std::byte* data, size_t bytes, int threads) {
    constexpr size_t part_bytes = size_t(1) << 18;
    if (threads <= 1 || bytes < 2 * part_bytes) return checksum(data, bytes);
    std::vector<uint64_t> parts(ceil_div(bytes, part_bytes));
    par_for(threads, int64_t(parts.size()), 1, [&](int64_t begin, int64_t end) {
        for (auto i = size_t(begin); i < size_t(end); ++i) {
            size_t first = i * part_bytes;
            parts[i] = checksum(data + first, std::min(part_bytes, bytes - first));
        }
    });
    return checksum(parts.data(), parts.size() * sizeof(uint64_t));
}

}  // namespace

FirstRunCheck::FirstRunCheck(const Program& program, int threads) : program_(program), threads_(threads) {}

StepObserver* FirstRunCheck::inside(const InnerRun& run, Context& inner) {
    if (run.iteration >= iterations) return nullptr;
    auto& check = inside_.of(
        inner, [this](auto& program) { return std::make_unique<FirstRunCheck>(*program, threads_); });
    check.path_ = path_ + path_inside(run);
    return &check;
}

std::string FirstRunCheck::describe(size_t step) const {
    auto& report = program_.steps()[step];
    return text("step ", step, " (", operator_text(report.op, path_ + report.name), ", ", report.algorithm,
                ")");
}

void FirstRunCheck::before_step(size_t step, Context& context) {
    for (ValueId input : program_.steps()[step].inputs) {
        if (input == no_value) continue;
        ValueId id = owner_of(input);
        if (sums_.contains(id)) {
            if (!was_just_seen(id, step)) expect_unchanged(id, step, "before", context);
            continue;
        }
        // No bytes: a weight of which the step reads a packed copy.
        auto& value = program_.values()[size_t(id)];
        if (value.place == ValueReport::Place::constant && value.bytes == 0) continue;
        if (auto sum = sum_of(id, context)) sums_[id] = {*sum, -1, -1};
    }
}

void FirstRunCheck::after_step(size_t step, Context& context) {
    auto& report = program_.steps()[step];
    for (ValueId id : report.inputs)
        if (id != no_value && !is_overwritten(step, id))
            expect_unchanged(owner_of(id), step, "after", context);
    for (ValueId id : report.inputs)
        if (auto it = id == no_value ? sums_.end() : sums_.find(owner_of(id)); it != sums_.end())
            it->second.seen = int(step);
    for (ValueId id : report.outputs)
        if (auto sum = sum_of(id, context)) sums_[id] = {*sum, int(step), int(step)};
}

// Returns the value whose memory a view shares.
ValueId FirstRunCheck::owner_of(ValueId id) const {
    while (program_.values()[size_t(id)].view_of != no_value) id = program_.values()[size_t(id)].view_of;
    return id;
}

// True if a result legitimately reuses the input's memory.
bool FirstRunCheck::is_overwritten(size_t step, ValueId input) const {
    auto& from = program_.values()[size_t(input)];
    if (from.place == ValueReport::Place::dynamic) return false;
    return std::ranges::any_of(program_.steps()[step].outputs, [&](ValueId id) {
        if (id == no_value) return false;
        auto& to = program_.values()[size_t(id)];
        return to.place == from.place && to.device == from.device && to.offset == from.offset;
    });
}

std::optional<uint64_t> FirstRunCheck::sum_of(ValueId id, Context& context) const {
    if (id == no_value) return std::nullopt;
    Tensor value = context.value(id);
    if (!value) return std::nullopt;
    Tensor on_host = to_host(value);
    return sum_of_bytes(static_cast<const std::byte*>(on_host.data()), on_host.spec().bytes(), threads_);
}

// No step ran since the last check. A late write will show after the step.
bool FirstRunCheck::was_just_seen(ValueId id, size_t step) const {
    int seen = sums_.at(id).seen;
    return seen >= 0 && seen + 1 == int(step);
}

void FirstRunCheck::expect_unchanged(ValueId id, size_t reader, const char* when, Context& context) const {
    auto it = sums_.find(id);
    if (it == sums_.end()) return;
    auto [sum, writer, seen] = it->second;
    auto now = sum_of(id, context);
    // A value allocated at run time is freed by its last reader.
    if (!now || *now == sum) return;
    std::string owner = writer < 0 ? "" : " of " + describe(size_t(writer));
    throw InternalError(text("the value '", path_, program_.values()[size_t(id)].name, "'", owner,
                             " has changed ", when, " ", describe(reader), " read it"));
}

}  // namespace mge
