// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/control/scan.h"

#include <algorithm>

#include "libmge/base/number_text.h"
#include "libmge/ops/control/control.h"
#include "libmge/ops/elementwise/arithmetic.h"

namespace mge::ops {

namespace {

constexpr auto who = Scan::name;

TensorSpec slice_of(const TensorSpec& spec) {
    Shape shape = spec.shape;
    if (shape.rank() > 0) shape.erase(0);
    return {spec.dtype, shape, {}};
}

// The number of steps, which may be symbolic.
Extent length_of(const Scan::Params& p, Specs in) {
    auto xs = in.subspan(size_t(p.carried), size_t(p.sliced));
    if (xs.empty()) return p.length;
    for (auto& spec : xs) {
        if (spec.shape.rank() < 1) throw_value_error(who, "xs need a first axis");
        if (!can_be_equal(who, spec.shape.extent(0), xs[0].shape.extent(0)))
            throw_value_error(who, "xs differ in the size of their first axis: ", xs[0].shape.extent(0),
                              " and ", spec.shape.extent(0));
    }
    return xs[0].shape.extent(0);
}

}  // namespace

int64_t scan_length(const Scan::Params& p, Specs in) { return length_of(p, in).number(); }

TensorSpecs scan_arguments(const Scan::Params& p, Specs in) {
    TensorSpecs arguments(in.begin(), in.end());
    for (size_t i = 0; i < size_t(p.sliced); ++i)
        arguments[size_t(p.carried) + i] = slice_of(in[size_t(p.carried) + i]);
    return arguments;
}

TensorSpecs Scan::infer(const Params& p, Specs in) {
    if (p.carried < 0 || p.sliced < 0 || p.length < 0 || uint64_t(p.carried) > in.size() ||
        uint64_t(p.sliced) > in.size() - size_t(p.carried))
        throw_value_error(name, "carried is ", p.carried, ", sliced ", p.sliced, ", length ", p.length,
                          " with ", counted(in.size(), "operand"));
    auto carried = in.first(size_t(p.carried));
    Extent length = length_of(p, in);
    auto results = infer_graph(name, "body", p.body, scan_arguments(p, in));
    // A shape known only at run time must not change: a run in which it does ends.
    for (size_t i = 0; i < std::min(carried.size(), results.size()); ++i)
        if (!results[i].shape.is_known()) results[i].shape = carried[i].shape;
    require_carried(name, carried, results);
    for (auto& spec : std::span(results).subspan(carried.size()))
        if (spec.shape.is_known()) spec = stacked(spec, length);
    if (p.keep_steps)
        for (auto& spec : carried) results.push_back(stacked(spec, length));
    return results;
}

namespace {

// The backward walk: (gradients of the carried values, sums for the constant ones; the values carried into
// each step, xs, gradients of the slices and of the results with the carried values; the constant ones).
struct Backward {
    const GradientContext<Scan::Params>& g;
    size_t carried = size_t(g.params.carried), sliced = size_t(g.params.sliced);
    size_t slices = g.outputs.size() - (g.params.keep_steps ? 2 : 1) * carried;
    std::vector<size_t> floats = float_positions(g.inputs.first(carried));
    std::vector<size_t> wanted = float_positions(g.inputs, g.needed);
    std::vector<size_t> wanted_xs = between(wanted, carried, carried + sliced);
    std::vector<size_t> wanted_constants = between(wanted, carried + sliced, g.inputs.size());
    std::vector<size_t> given_slices = between(float_positions(g.output_grads), carried, carried + slices);
    std::span<const Tensor> kept_grads = g.output_grads.subspan(carried + slices);
    // The floats whose kept steps have a gradient.
    std::vector<size_t> kept = with_kept_gradient(kept_grads, floats);

    std::vector<size_t> wrt() const { return join(join(floats, wanted_constants), wanted_xs); }
    std::vector<size_t> of() const { return join(floats, given_slices); }
    SubgraphRef gradient_of_body() const {
        auto& body = g.params.body;
        return body->derived(key_of("gradient", of(), wrt()), [&] { return body->gradient(of(), wrt()); });
    }

    SubgraphRef body(Specs specs) const {
        return make_subgraph(specs, [&](std::span<const Tensor> in) {
            size_t sums = floats.size(), steps = sums + wanted_constants.size();
            size_t slice_grads = steps + carried + sliced, grads_at = slice_grads + given_slices.size();
            Tensors arguments;
            append(arguments, in.subspan(steps, carried + sliced));
            append(arguments, in.subspan(grads_at + kept.size()));
            append(arguments, in.first(floats.size()));
            append(arguments, in.subspan(slice_grads, given_slices.size()));
            Tensors grads = gradient_of_body()->apply(arguments);
            for (size_t i = 0; i < kept.size(); ++i) grads[kept[i]] = add(grads[kept[i]], in[grads_at + i]);
            for (size_t i = 0; i < wanted_constants.size(); ++i)
                grads[sums + i] = add(in[sums + i], grads[sums + i]);
            return grads;
        });
    }
};

}  // namespace

Tensors Scan::gradient(const GradientContext<Params>& g) {
    Backward backward{g};
    Tensors result(g.inputs.size());
    if (backward.wrt().empty() || backward.of().empty()) return result;
    size_t carried = backward.carried;
    Tensors outputs(g.outputs.begin(), g.outputs.end());
    if (!g.params.keep_steps) {
        Params keeping = g.params;
        keeping.keep_steps = true;
        outputs = scan(Tensors(g.inputs.begin(), g.inputs.end()), keeping);
    }
    Tensors operands;
    for (size_t i : backward.floats)
        operands.push_back(g.output_grads[i] ? g.output_grads[i] : zeros_like(g.inputs[i]));
    for (size_t i : backward.wanted_constants) operands.push_back(zeros_like(g.inputs[i]));
    size_t changing = operands.size();
    append(operands, std::span(outputs).last(carried));
    append(operands, g.inputs.subspan(carried, backward.sliced));
    append(operands, at(g.output_grads, backward.given_slices));
    for (size_t i : backward.kept) operands.push_back(backward.kept_grads[backward.floats[i]]);
    size_t sliced = operands.size() - changing;
    append(operands, g.inputs.subspan(carried + backward.sliced));
    Params params{.carried = int64_t(changing), .sliced = int64_t(sliced), .reverse = !g.params.reverse};
    params.length = sliced ? 0 : g.params.length;
    TensorSpecs specs = scan_arguments(params, specs_of(operands));
    std::string key = text(key_of(who, join(backward.of(), backward.kept), backward.wrt()), " of ", carried,
                           " and ", backward.sliced, specs_text(specs));
    params.body = g.params.body->derived(key, [&] { return backward.body(specs); });
    Tensors grads = scan(operands, params);
    size_t next = 0;
    for (size_t i : backward.wrt()) result[i] = grads[next++];
    return result;
}

namespace {

struct State {
    std::unique_ptr<SubgraphPrograms> body;
    std::vector<size_t> carried, sliced, slices;  // bytes of each in one step; 0: determined by the first
                                                  // step
    TensorSpecs specs;                            // specs of a step's results
    int64_t length;
    bool reverse, keeps;
    DeviceId device;

    // Part of the workspace before that of the program: a place for each carried value.
    size_t own_bytes() const { return keeps ? 0 : loop_slots(carried); }
};

Prepared prepare(const PrepareContext& context) {
    auto& problem = context.problem;
    auto& p = problem.as<Scan::Params>();
    TensorSpecs arguments = scan_arguments(p, problem.inputs);
    auto carried = bytes_of(problem.inputs.first(size_t(p.carried)));
    auto sliced = bytes_of(std::span(arguments).subspan(carried.size(), size_t(p.sliced)));
    size_t count = problem.outputs.size() - (p.keep_steps ? 2 : 1) * carried.size();
    TensorSpecs specs(problem.inputs.begin(), problem.inputs.begin() + p.carried);
    std::vector<size_t> slices;
    for (auto& spec : problem.outputs.subspan(carried.size(), count)) {
        bool is_known = spec.shape.is_known();
        specs.push_back(is_known ? slice_of(spec) : spec);
        slices.push_back(is_known ? specs.back().bytes() : 0);
    }
    int64_t length = scan_length(p, problem.inputs);
    State state{compile_subgraph(*p.body, {"body"}, arguments, context),
                carried,
                sliced,
                slices,
                specs,
                length,
                p.reverse,
                p.keep_steps,
                problem.device};
    size_t workspace = state.own_bytes() + state.body->workspace();
    return Prepared::make(std::move(state), workspace);
}

// Step by step: where the body reads and writes.
class Walk {
public:
    Walk(const State& state, const Launch& launch)
        : state_(state),
          launch_(launch),
          queue_(queue_for(launch, state.device)),
          inputs_(launch.inputs.begin(), launch.inputs.end(), memory_.get()),
          outputs_(state.carried.size() + state.slices.size(), memory_.get()),
          spare_(memory_.get()),
          found_(memory_.get()) {
        spare_.reserve(state.carried.size());
        void* next = launch.workspace;
        for (size_t bytes : state.carried) {
            spare_.push_back(next);
            if (!state.keeps) next = offset_by(next, loop_slot(bytes));
        }
    }

    void run() {
        BorrowedProgram body(*state_.body, launch_, offset_by(launch_.workspace, state_.own_bytes()));
        for (size_t i = 0; i < outputs_.size(); ++i)
            if (!body->outputs()[i].shape.is_known()) found_.push_back({i, state_.specs[i], nullptr});
        for (int64_t n = 0; n < state_.length; ++n) {
            point(n);
            body->run(inputs_, outputs_);
            for (auto& found : found_) take(found, body->output(found.output), n);
            std::copy_n(outputs_.begin(), state_.carried.size(), inputs_.begin());
        }
        for (size_t i = 0; i < state_.carried.size(); ++i)
            if (inputs_[i] != launch_.outputs[i])
                queue_.copy(launch_.outputs[i], inputs_[i], state_.carried[i]);
        // Without slices their spec is unknown.
        for (auto& found : found_)
            if (!state_.length && !found.spec.shape.is_known())
                launch_.allocator->allocate(found.output, {found.spec.dtype, {0}, {}});
    }

private:
    // Shapes determined only by running the body.
    struct Found {
        size_t output;
        TensorSpec spec;  // in the previous steps
        void* slices;     // all of them; null: it is carried
    };
    void take(Found& found, const Tensor& made, int64_t step) {
        size_t i = found.output, bytes = made.spec().bytes();
        if (!found.spec.shape.is_known()) {
            found.spec = made.spec();
            found.slices = launch_.allocator->allocate(i, stacked(made.spec(), state_.length));
        }
        if (!(found.spec == made.spec()))
            throw_value_error(who, "result ", i, " of its body is ", found.spec, " in one step and ",
                              made.spec(), " in another");
        void* place = found.slices ? offset_by(found.slices, size_t(index(step)) * bytes) : after(i, step);
        queue_.copy(place, made.address(), bytes);
        outputs_[i] = place;
    }
    int64_t index(int64_t step) const { return state_.reverse ? state_.length - 1 - step : step; }
    void* kept(size_t i, int64_t step) const {
        size_t first = state_.carried.size() + state_.slices.size();
        return offset_by(launch_.outputs[first + i], size_t(index(step)) * state_.carried[i]);
    }
    void* after(size_t i, int64_t step) const {
        if (state_.keeps && step + 1 < state_.length) return kept(i, step + 1);
        return inputs_[i] == launch_.outputs[i] ? spare_[i] : launch_.outputs[i];
    }
    void point(int64_t step) {
        size_t carried = state_.carried.size(), at = size_t(index(step));
        for (size_t i = 0; i < carried; ++i) {
            if (state_.keeps && step == 0) {
                queue_.copy(kept(i, 0), inputs_[i], state_.carried[i]);
                inputs_[i] = kept(i, 0);
            }
            outputs_[i] = after(i, step);
        }
        for (size_t i = 0; i < state_.sliced.size(); ++i)
            inputs_[carried + i] = offset_by(launch_.inputs[carried + i], at * state_.sliced[i]);
        for (size_t i = 0; i < state_.slices.size(); ++i)
            outputs_[carried + i] = offset_by(launch_.outputs[carried + i], at * state_.slices[i]);
        for (auto& found : found_) outputs_[found.output] = nullptr;
    }

    const State& state_;
    const Launch& launch_;
    Queue& queue_;
    CallMemory memory_;
    std::pmr::vector<const void*> inputs_;
    std::pmr::vector<void*> outputs_, spare_;
    std::pmr::vector<Found> found_;
};

void run(const Prepared& prepared, const Launch& launch) { Walk(prepared.state<State>(), launch).run(); }

}  // namespace

KernelList kernels(Cpu, Scan) {
    static constexpr Algorithm list[] = {{"program", always, prepare, run, {.unmeasured = true}}};
    return list;
}

Footprint Scan::footprint(const Params& p, Specs in, Specs) {
    Footprint step = p.body->footprint(scan_arguments(p, in));
    auto steps = double(scan_length(p, in));
    return {steps * *step.operations, steps * *step.bytes};
}

}  // namespace mge::ops
