// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/control/while_loop.h"

#include <algorithm>
#include <array>

#include "libmge/base/number_text.h"
#include "libmge/ops/control/control.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::ops {

TensorSpecs WhileLoop::infer(const Params& p, Specs in) {
    if (p.carried < 1 || size_t(p.carried) > in.size())
        throw_value_error(name, "carried is ", p.carried, " of ", counted(in.size(), "operand"));
    if (p.max_steps < 0 || (p.keep_steps && p.max_steps == 0))
        throw_value_error(name, "max_steps is ", p.max_steps, p.keep_steps ? " with keep_steps" : "");
    auto flag = infer_graph(name, "condition", p.condition, in);
    if (flag.size() != 1)
        throw_value_error(name, "the condition has ", counted(flag.size(), "result"), " instead of one");
    require_flag(name, "condition", flag[0]);
    auto carried = in.first(size_t(p.carried));
    auto after = infer_graph(name, "body", p.body, in);
    require_carried(name, carried, after);
    if (after.size() != carried.size())
        throw_value_error(name, "the body gives ", counted(after.size(), "result"), " for ", carried.size(),
                          " carried");
    after.push_back({DType::i32, Shape{1}, {}});
    if (p.keep_steps)
        for (auto& spec : carried) after.push_back(stacked(spec, p.max_steps));
    return after;
}

namespace {

constexpr auto who = WhileLoop::name;

// The backward loop: (step, gradients of the carried values, sums for the constant ones; the values carried
// into each step, gradients of the results with these, the constant ones).
struct Backward {
    const GradientContext<WhileLoop::Params>& g;
    size_t carried = size_t(g.params.carried);
    std::vector<size_t> floats = float_positions(g.inputs.first(carried));
    std::vector<size_t> wanted = between(float_positions(g.inputs, g.needed), carried, g.inputs.size());
    std::span<const Tensor> kept_grads = g.output_grads.subspan(carried + 1);
    // The floats whose kept steps have a gradient.
    std::vector<size_t> kept = with_kept_gradient(kept_grads, floats);

    std::vector<size_t> wrt() const { return join(floats, wanted); }
    SubgraphRef gradient_of_body() const {
        return g.params.body->derived(key_of("gradient", floats, wrt()),
                                      [&] { return g.params.body->gradient(floats, wrt()); });
    }

    SubgraphRef condition(Specs specs) const {
        return make_subgraph(specs, [](std::span<const Tensor> in) -> Tensors {
            return {greater_equal(in[0], zeros_like(in[0]))};
        });
    }
    SubgraphRef body(Specs specs) const {
        return make_subgraph(specs, [&](std::span<const Tensor> in) {
            size_t sums = 1 + floats.size(), steps = sums + wanted.size(), grads_at = steps + carried;
            auto now = [&](const Tensor& kept) {
                return remove_axis(take({kept, in[0]}, {.axes = {0}}), {.axes = {0}});
            };
            Tensors arguments;
            for (size_t i = 0; i < carried; ++i) arguments.push_back(now(in[steps + i]));
            append(arguments, in.subspan(grads_at + kept.size()));
            append(arguments, in.subspan(1, floats.size()));
            Tensors grads = gradient_of_body()->apply(arguments);
            for (size_t i = 0; i < kept.size(); ++i)
                grads[kept[i]] = add(grads[kept[i]], now(in[grads_at + i]));
            for (size_t i = 0; i < wanted.size(); ++i)
                grads[floats.size() + i] = add(in[sums + i], grads[floats.size() + i]);
            grads.insert(grads.begin(), sub(in[0], full_like(in[0], {.value = 1})));
            return grads;
        });
    }
};

}  // namespace

Tensors WhileLoop::gradient(const GradientContext<Params>& g) {
    Backward backward{g};
    Tensors result(g.inputs.size());
    if (backward.wrt().empty()) return result;
    if (!g.params.max_steps) throw_value_error(name, "its gradient needs a limit: set max_steps");
    size_t carried = backward.carried;
    Tensors outputs(g.outputs.begin(), g.outputs.end());
    if (!g.params.keep_steps) {
        Params keeping = g.params;
        keeping.keep_steps = true;
        outputs = while_loop(Tensors(g.inputs.begin(), g.inputs.end()), keeping);
    }
    Tensor last = sub(outputs[carried], full_like(outputs[carried], {.value = 1}));
    Tensors operands{last};
    for (size_t i : backward.floats)
        operands.push_back(g.output_grads[i] ? g.output_grads[i] : zeros_like(g.inputs[i]));
    for (size_t i : backward.wanted) operands.push_back(zeros_like(g.inputs[i]));
    size_t changing = operands.size();
    append(operands, std::span(outputs).subspan(carried + 1, carried));
    for (size_t i : backward.kept) operands.push_back(backward.kept_grads[backward.floats[i]]);
    append(operands, g.inputs.subspan(carried));
    TensorSpecs specs = specs_of(operands);
    auto& body = *g.params.body;
    std::string key = key_of(who, backward.kept, backward.wrt()) + specs_text(specs);
    Params params{body.derived(key + " condition", [&] { return backward.condition(specs); }),
                  body.derived(key + " body", [&] { return backward.body(specs); }), int64_t(changing),
                  g.params.max_steps};
    Tensors grads = while_loop(operands, params);
    for (size_t i = 0; i < backward.floats.size(); ++i) result[backward.floats[i]] = grads[1 + i];
    for (size_t i = 0; i < backward.wanted.size(); ++i)
        result[backward.wanted[i]] = grads[1 + backward.floats.size() + i];
    return result;
}

namespace {

struct State {
    std::unique_ptr<SubgraphPrograms> condition, body;
    HostFlag flag;
    std::vector<size_t> bytes;  // for each carried value
    int64_t max_steps;
    bool keeps;
    DeviceId device;

    // Part of the workspace before that of the programs: the flag, and a place for each carried value.
    size_t own_bytes() const { return loop_slot(flag.bytes()) + (keeps ? 0 : loop_slots(bytes)); }
};

Prepared prepare(const PrepareContext& context) {
    auto& problem = context.problem;
    auto& params = problem.as<WhileLoop::Params>();
    TensorSpec flag = infer_graph(who, "condition", params.condition, problem.inputs)[0];
    auto bytes = bytes_of(problem.inputs.first(size_t(params.carried)));
    State state{compile_subgraph(*params.condition, {"condition"}, problem.inputs, context),
                compile_subgraph(*params.body, {"body"}, problem.inputs, context),
                HostFlag(flag, problem.device),
                bytes,
                params.max_steps,
                params.keep_steps,
                problem.device};
    // They run by turns, and keep nothing.
    size_t programs = std::max(state.condition->workspace(), state.body->workspace());
    size_t workspace = state.own_bytes() + programs;
    return Prepared::make(std::move(state), workspace);
}

// Location of the values carried into step n: the results of keep_steps, otherwise workspace and result in
// turns.
class Carried {
public:
    Carried(const State& state, const Launch& launch)
        : state_(state),
          launch_(launch),
          queue_(queue_for(launch, state.device)),
          now_(memory_.get()),
          spare_(memory_.get()),
          next_(state.bytes.size(), memory_.get()) {
        now_.reserve(state.bytes.size());
        spare_.reserve(state.bytes.size());
        void* next = offset_by(launch.workspace, loop_slot(state.flag.bytes()));
        for (size_t i = 0; i < state.bytes.size(); ++i) {
            spare_.push_back(state.keeps ? nullptr : next);
            if (!state.keeps) next = offset_by(next, loop_slot(state.bytes[i]));
            now_.push_back(launch.inputs[i]);
            if (!state.keeps) continue;
            queue_.copy(kept(i, 0), now_[i], state.bytes[i]);
            now_[i] = kept(i, 0);
        }
    }
    std::span<const void* const> now() const { return now_; }
    // The place of each value after step n.
    std::span<void* const> after(int64_t n) {
        for (size_t i = 0; i < now_.size(); ++i)
            next_[i] = state_.keeps && n + 1 < state_.max_steps ? kept(i, n + 1)
                       : now_[i] == launch_.outputs[i]          ? spare_[i]
                                                                : launch_.outputs[i];
        return next_;
    }
    void advance() { now_.assign(next_.begin(), next_.end()); }
    void finish(int64_t steps) {
        for (size_t i = 0; i < now_.size(); ++i) {
            if (now_[i] != launch_.outputs[i]) queue_.copy(launch_.outputs[i], now_[i], state_.bytes[i]);
            if (state_.keeps && steps < state_.max_steps)
                queue_.fill(kept(i, steps), 0, size_t(state_.max_steps - steps) * state_.bytes[i]);
        }
    }

private:
    void* kept(size_t i, int64_t step) const {
        return offset_by(launch_.outputs[state_.bytes.size() + 1 + i], size_t(step) * state_.bytes[i]);
    }

    const State& state_;
    const Launch& launch_;
    Queue& queue_;
    CallMemory memory_;
    std::pmr::vector<const void*> now_;
    std::pmr::vector<void*> spare_, next_;
};

void run(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    Queue& queue = queue_for(launch, state.device);
    void* workspace = offset_by(launch.workspace, state.own_bytes());
    BorrowedProgram condition(*state.condition, launch, workspace), body(*state.body, launch, workspace);
    Carried carried(state, launch);
    CallMemory memory;
    std::pmr::vector<const void*> operands(launch.inputs.begin(), launch.inputs.end(), memory.get());
    std::array<void*, 1> flag{launch.workspace};
    int32_t steps = 0;
    while (!state.max_steps || steps < state.max_steps) {
        std::copy(carried.now().begin(), carried.now().end(), operands.begin());
        condition->run(operands, flag);
        if (!state.flag.read(queue, flag[0])) break;
        body->run(operands, carried.after(steps));
        carried.advance();
        if (steps++ == INT32_MAX) throw_value_error(who, "the loop does not end");
    }
    carried.finish(steps);
    queue.copy_from_host(launch.outputs[state.bytes.size()], &steps, sizeof steps);
}

}  // namespace

KernelList kernels(Cpu, WhileLoop) {
    static constexpr Algorithm list[] = {{"program", always, prepare, run, {.unmeasured = true}}};
    return list;
}

// The number of iterations is known only at run time.
Footprint WhileLoop::footprint(const Params&, Specs, Specs) { return {}; }

}  // namespace mge::ops
