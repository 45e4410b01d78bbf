// SPDX-License-Identifier: Apache-2.0
#include "libmge/eager/trace.h"

#include <algorithm>
#include <set>
#include <utility>

#include "libmge/base/number_text.h"
#include "libmge/device/default_device.h"
#include "libmge/eager/tape.h"
#include "libmge/graph/builder.h"
#include "libmge/graph/inner_graph.h"
#include "libmge/graph/symbolic/symbolic_shapes.h"
#include "libmge/ops/effect/assert_equal.h"
#include "libmge/ops/move/to_device.h"
#include "libmge/ops/shape/shape_of.h"
#include "libmge/tensor/borrowed.h"

namespace mge {
namespace {

thread_local Trace* running_trace = nullptr;

// Marks tensors whose values an error lost.
char lost_owner;

// True if only this call holds the value and its memory, as for a parameter whose update has not been
// computed yet.
bool is_sole_use(const Tensor& handle) {
    auto* impl = handle.impl();
    return impl->offset == 0 && handle.is_sole_owner() && !is_borrowed(*impl->storage.get());
}

// `ids` maps variables to values of a graph.
std::vector<ValueId> values_of(const std::vector<int>& variables, const std::vector<ValueId>& ids) {
    std::vector<ValueId> values;
    for (int variable : variables) values.push_back(variable < 0 ? no_value : ids[size_t(variable)]);
    return values;
}

}  // namespace

Trace::Trace(TraceOptions options) : options_(std::move(options)) {}

Trace::~Trace() {
    if (running_) abort();
}

void Trace::fail(const std::string& reason) const { throw UserError("trace error because " + reason); }

void Trace::begin(std::span<const Tensor> arguments, std::shared_ptr<StepObserver> observer) {
    if (running_trace || running_) throw UserError("a traced function cannot be called inside another one");
    if (options_.record_only) recorded_ = false;
    if (!recorded_) {
        variables_.clear();
        steps_.clear();
        kept_values_.clear();
        segments_.clear();
        argument_count_ = arguments.size();
    } else if (options_.capture_as_const && arguments.size() != argument_count_) {
        fail(text("the number of tensor arguments differs: ", arguments.size(), " instead of ",
                  argument_count_));
    }
    position_ = computed_ = 0;
    present_.assign(variables_.size(), {});
    observer_ = std::move(observer);
    running_ = true;
    running_trace = this;
    outer_ = exchange_base_interpreter(this);
    // Later calls may pass one tensor twice, or by keyword what the recorded call passed by position:
    // arguments are identified at their first use then. A graph of constants has fixed arguments.
    if (recorded_ && !options_.capture_as_const) return;
    for (size_t i = 0; i < arguments.size(); ++i) {
        if (!recorded_) {
            variables_.push_back(
                {Kind::argument, arguments[i].spec(), arguments[i].device(), int(i), {}, {}, {}});
            present_.emplace_back();
        } else if (variables_[i].spec.dtype != arguments[i].dtype()) {
            leave();
            fail(text("dtype mismatch of argument ", i, ": ", arguments[i].dtype(), " instead of ",
                      variables_[i].spec.dtype));
        }
        bind(int(i), arguments[i]);
    }
}

void Trace::bind(int variable, const Tensor& handle) {
    auto& present = present_[size_t(variable)];
    present.handle = handle;
    present.bound = true;
    if (!handle.is_symbolic()) ids_.try_emplace(handle.impl(), variable);
}

Tensors Trace::apply(const OpInfo& op, const void* params, std::span<const Tensor> inputs) {
    std::vector<int> ids;
    if (recorded_)
        ids = check_step(op, params, inputs).inputs;
    else
        ids = identify_all(inputs);
    TensorSpecs specs = infer_step(op, params, inputs, ids);
    DeviceId id = place_of_outputs(op, params, inputs, default_device());
    if (recorded_ && steps_[size_t(position_)].outputs.size() != specs.size())
        fail(text("operator mismatch: ", op.name, " has another number of outputs"));
    Tensors outputs;
    bool is_known = true;
    for (size_t i = 0; i < specs.size(); ++i) {
        int variable = recorded_ ? steps_[size_t(position_)].outputs[i] : int(variables_.size() + i);
        if (op.traits.runtime_shape) specs[i].shape = Shape::unknown();
        is_known &= specs[i].shape.is_known();
        outputs.push_back(Tensor::symbolic(specs[i], this, variable, id));
    }
    if (recorded_) {
        auto& variables = steps_[size_t(position_++)].outputs;
        for (size_t i = 0; i < outputs.size(); ++i) bind(variables[i], outputs[i]);
    } else {
        record_step(op, params, ids, outputs);
    }
    // Nothing can be inferred from a shape that is known only at run time.
    if (!is_known)
        flush();
    else
        compute_known(op, params, inputs, ids, steps_[size_t(position_ - 1)].outputs);
    return outputs;
}

Tensor Trace::alias(const Tensor& tensor) {
    Tensor alias = tensor.alias();
    if (tensor.is_symbolic()) {
        if (tensor.impl()->symbol_owner == this)
            present_[size_t(tensor.impl()->symbol)].aliases.push_back(alias);
    } else if (auto it = ids_.find(tensor.impl()); it != ids_.end()) {
        ids_.emplace(alias.impl(), it->second);
        kept_.push_back(alias);
    }
    return alias;
}

// Returns the variables of these steps that are still held outside of the trace.
std::vector<int> Trace::wanted(int begin, int end) const {
    auto is_held = [](const Tensor& tensor) {
        return tensor && tensor.is_symbolic() && tensor.impl()->users.load(std::memory_order_acquire) > 1;
    };
    std::vector<int> result;
    for (int i = begin; i < end; ++i)
        for (int output : steps_[size_t(i)].outputs) {
            auto& present = present_[size_t(output)];
            if (is_held(present.handle) || std::ranges::any_of(present.aliases, is_held))
                result.push_back(output);
        }
    return result;
}

Graph Trace::segment_graph(Segment& segment) const {
    Graph graph;
    std::vector<ValueId> ids(variables_.size(), no_value);
    for (int i = segment.begin; i < segment.end; ++i) {
        const Step& step = steps_[size_t(i)];
        for (int input : step.inputs) {
            if (input < 0 || ids[size_t(input)] != no_value) continue;
            auto& variable = variables_[size_t(input)];
            const Tensor& handle = present_[size_t(input)].handle;
            if (is_fixed(variable)) {
                ids[size_t(input)] = graph.add_constant(variable.constant, {}, handle.device());
            } else {
                segment.inputs.push_back(input);
                ids[size_t(input)] = graph.add_input(handle.spec(), text("value_", input), handle.device());
            }
        }
        TensorSpecs specs;
        for (int output : step.outputs) specs.push_back(present_[size_t(output)].handle.spec());
        NodeId node = graph.add_node(*step.op, step.params, values_of(step.inputs, ids), {}, &specs,
                                     &segment.places[size_t(i - segment.begin)]);
        for (size_t k = 0; k < step.outputs.size(); ++k)
            ids[size_t(step.outputs[k])] = graph.node(node).outputs[k];
    }
    graph.set_outputs(values_of(segment.outputs, ids));
    return graph;
}

// Returns the devices of the steps' results in the present call.
std::vector<DeviceId> Trace::places_of(int begin, int end) const {
    std::vector<DeviceId> places;
    for (int i = begin; i < end; ++i)
        places.push_back(present_[size_t(steps_[size_t(i)].outputs.at(0))].handle.device());
    return places;
}

Trace::Segment& Trace::find_segment(int begin, int end, const std::vector<int>& wanted) {
    auto places = places_of(begin, end);
    auto settings = select_settings();
    for (auto& segment : segments_)
        if (segment->begin == begin && segment->end == end && segment->places == places &&
            segment->settings == settings && std::ranges::includes(segment->outputs, wanted))
            return *segment;
    auto segment =
        std::make_unique<Segment>(Segment{begin, end, {}, wanted, std::move(places), settings, nullptr});
    CompileOptions compile = options_.compile;
    compile.select = with_settings(compile.select, settings);
    segment->executable = std::make_unique<Executable>(segment_graph(*segment), std::move(compile));
    return *segments_.emplace_back(std::move(segment));
}

void Trace::fill(const Tensor& handle, const Tensor& value, int variable) {
    if (!handle || !handle.is_symbolic()) return;
    TensorImpl& impl = *handle.impl();
    impl.spec = value.spec();
    impl.storage = value.impl()->storage;
    impl.offset = value.impl()->offset;
    // Keep the spelling: it matters for the default device.
    if (!(impl.device == value.device())) impl.device = value.device();
    impl.symbol_owner = nullptr;
    impl.symbol = -1;
    ids_.insert_or_assign(&impl, variable);
}

void Trace::give_value(int variable, const Tensor& value) {
    auto& present = present_[size_t(variable)];
    fill(present.handle, value, variable);
    for (auto& alias : present.aliases) fill(alias, value, variable);
}

void Trace::run_compiled(const std::vector<int>& wanted) {
    Segment& segment = find_segment(computed_, position_, wanted);
    Tensors inputs;
    std::vector<bool> is_donated;
    for (int input : segment.inputs) {
        const Tensor& handle = present_[size_t(input)].handle;
        MGE_CHECK(handle && !handle.is_symbolic(), "variable ", input, " has no value yet");
        is_donated.push_back(is_sole_use(handle));
        inputs.push_back(handle);
    }
    Tensors values = segment.executable->run(inputs, observer_.get(), is_donated);
    for (size_t i = 0; i < values.size(); ++i) give_value(segment.outputs[i], values[i]);
}

bool Trace::has_effects(int begin, int end) const {
    return std::any_of(steps_.begin() + begin, steps_.begin() + end,
                       [](auto& step) { return has_effect(*step.op, step.params.get()); });
}

// Returns which pending steps the wanted variables depend on or which have side effects.
std::vector<bool> Trace::needed_steps(const std::vector<int>& wanted) const {
    std::vector<bool> variables(variables_.size()), steps(size_t(position_ - computed_));
    for (int variable : wanted) variables[size_t(variable)] = true;
    for (int i = position_; i-- > computed_;) {
        const Step& step = steps_[size_t(i)];
        if (!has_effect(*step.op, step.params.get()) &&
            std::ranges::none_of(step.outputs, [&](int output) { return variables[size_t(output)]; }))
            continue;
        steps[size_t(i - computed_)] = true;
        for (int input : step.inputs)
            if (input >= 0) variables[size_t(input)] = true;
    }
    return steps;
}

void Trace::run_one_by_one(const std::vector<int>& wanted) {
    auto needed = needed_steps(wanted);
    std::vector<int> last_use(variables_.size(), -1);
    for (int i = computed_; i < position_; ++i)
        for (int input : steps_[size_t(i)].inputs)
            if (input >= 0 && needed[size_t(i - computed_)]) last_use[size_t(input)] = i;
    for (int variable : wanted) last_use[size_t(variable)] = position_;
    Tensors values(variables_.size());
    for (int i = computed_; i < position_; ++i) {
        if (!needed[size_t(i - computed_)]) continue;
        const Step& step = steps_[size_t(i)];
        Tensors inputs;
        for (int input : step.inputs) {
            Tensor value = input < 0 ? Tensor() : present_[size_t(input)].handle;
            inputs.push_back(value && value.is_symbolic() ? values[size_t(input)] : value);
        }
        Tensors outputs = eager_interpreter().apply(*step.op, step.params.get(), inputs);
        for (size_t k = 0; k < outputs.size(); ++k)
            if (last_use[size_t(step.outputs[k])] > i) values[size_t(step.outputs[k])] = outputs[k];
        for (int input : step.inputs)
            if (input >= 0 && last_use[size_t(input)] == i) values[size_t(input)] = {};
    }
    for (int variable : wanted) give_value(variable, values[size_t(variable)]);
}

// Computes the wanted values of all pending steps.
void Trace::flush() {
    if (computed_ == position_) return;
    auto held = wanted(computed_, position_);
    std::ranges::sort(held);
    if (!held.empty() || has_effects(computed_, position_))
        is_compiled() ? run_compiled(held) : run_one_by_one(held);
    computed_ = position_;
}

void Trace::compute(const Tensor& tensor) {
    void* owner = tensor.impl()->symbol_owner;
    if (!owner) return;
    if (owner == &lost_owner) throw UserError("this value was lost by an error in a traced function");
    if (owner == &current_interpreter() && owner != running_trace)
        throw UserError("a value of a graph that is being made can only be read when it runs");
    if (!running_trace || owner != running_trace)
        throw UserError("a value of a traced function can only be read on the thread that runs it");
    Trace& trace = *running_trace;
    int variable = tensor.impl()->symbol;
    if (Tensor known = trace.present_[size_t(variable)].known)
        trace.give_value(variable, to_device(known, tensor.device()));
    else
        trace.flush();
}

// Returns the variable of a tensor, -1 if the trace has none.
int Trace::find(const Tensor& tensor) const {
    if (tensor.is_symbolic() && tensor.impl()->symbol_owner == this) return tensor.impl()->symbol;
    auto it = ids_.find(tensor.impl());
    return it == ids_.end() ? -1 : it->second;
}

std::vector<int> Trace::arguments_of(const Tensor& tensor, bool by_value) {
    if (!running_trace) return {};
    const Trace& trace = *running_trace;
    int variable = trace.find(tensor);
    if (variable < 0) return {};
    std::set<int> seen{variable}, arguments;
    for (std::vector<int> left{variable}; !left.empty();) {
        const Variable& next = trace.variables_[size_t(left.back())];
        left.pop_back();
        if (next.kind == Kind::argument) arguments.insert(next.at);
        if (next.kind != Kind::computed) continue;
        const Step& step = trace.steps_[size_t(next.at)];
        if (by_value && step.op->traits.reads_only_specs) continue;
        for (int input : step.inputs)
            if (input >= 0 && seen.insert(input).second) left.push_back(input);
    }
    return {arguments.begin(), arguments.end()};
}

std::vector<int> Trace::shape_arguments(const Tensor& tensor) {
    int variable = running_trace ? running_trace->find(tensor) : -1;
    if (variable < 0 || !running_trace->present_[size_t(variable)].known) return {};
    return arguments_of(tensor);
}

void Trace::keep(KeptValue kept) {
    auto is_same = [&](auto& other) {
        return other.variable == kept.variable && other.is_length == kept.is_length;
    };
    if (!recorded_ && std::ranges::none_of(kept_values_, is_same)) kept_values_.push_back(std::move(kept));
}

void Trace::keep_value(const Tensor& tensor, std::string claim) {
    int variable = running_trace ? running_trace->find(tensor) : -1;
    if (variable < 0) return;
    if (Tensor value = running_trace->present_[size_t(variable)].known)
        running_trace->keep({variable, value, std::move(claim), false});
}

void Trace::keep_length(const Tensor& tensor, std::string claim) {
    int variable = running_trace ? running_trace->find(tensor) : -1;
    if (variable < 0) return;
    auto size = int32_t(tensor.shape()[0]);
    Tensor length = tensor_from_host({DType::i32, {1}, {}}, &size, host_device);
    running_trace->keep({variable, length, std::move(claim), true});
}

void Trace::lose_values() {
    for (auto& present : present_) {
        auto lose = [](const Tensor& handle) {
            if (handle && handle.is_symbolic()) handle.impl()->symbol_owner = &lost_owner;
        };
        lose(present.handle);
        std::ranges::for_each(present.aliases, lose);
    }
}

void Trace::leave() {
    lose_values();
    present_.clear();
    ids_.clear();
    kept_.clear();
    observer_.reset();
    running_ = false;
    running_trace = nullptr;
    exchange_base_interpreter(outer_);
}

void Trace::end(std::span<const Tensor> outputs) {
    MGE_CHECK(running_);
    if (recorded_ && size_t(position_) != steps_.size()) {
        abort();
        fail(text("mismature end: the recording goes on with operator ", steps_[size_t(position_)].op->name));
    }
    if (!recorded_) {
        outputs_.clear();
        for (auto& output : outputs) outputs_.push_back(identify(output, -1));
    }
    try {
        flush();
    } catch (...) {
        leave();
        throw;
    }
    leave();
    recorded_ = true;
}

void Trace::abort() {
    if (!running_) return;
    try {
        flush();
    } catch (const std::exception&) {
        // The first error is the one to report; its values are marked as lost.
    } catch (...) {  // an interrupted wait
        leave();
        throw;
    }
    leave();
}

// Builds a portable program: the device of the first argument becomes the default device.
class Trace::Export {
public:
    Export(const Trace& trace, const TensorNames& names) : trace_(trace), values_(trace.variables_.size()) {
        for (auto& [tensor, name] : names) names_.try_emplace(tensor.impl(), name);
        for (auto& variable : trace.variables_)
            if (variable.kind == Kind::argument || variable.constant) {
                home_ = variable.device;
                break;
            }
    }

    Graph run(bool checks_kept_values) && {
        add_steps();
        if (checks_kept_values) {
            for (auto& kept : trace_.kept_values_)
                if (!kept.is_length) add_check(kept);
            for (auto* kept : open_lengths()) add_check(*kept);
        }
        Tensors outputs;
        for (int output : trace_.outputs_) outputs.push_back(value_of(output));
        builder_.set_outputs(outputs);
        return builder_.take();
    }

    std::vector<std::string> open_claims() && {
        add_steps();
        std::vector<std::string> claims;
        for (auto* kept : open_lengths()) claims.push_back(kept->claim);
        return claims;
    }

private:
    void add_steps() {
        for (size_t i = 0; i < values_.size(); ++i) values_[i] = from_outside(trace_.variables_[i]);
        for (auto& step : trace_.steps_) add(step);
    }

    // Returns the kept lengths that are not the same for all shapes of the arguments.
    std::vector<const KeptValue*> open_lengths() {
        std::vector<const KeptValue*> open;
        for (auto& kept : trace_.kept_values_)
            if (kept.is_length) open.push_back(&kept);
        if (open.empty()) return open;
        auto shapes = symbolic_shapes(builder_.graph()).shapes;
        std::erase_if(open, [&](auto* kept) {
            const Shape& shape = shapes[size_t(value_of(kept->variable).impl()->symbol)];
            return shape.is_known() && shape.extent(0).is_number();
        });
        return open;
    }

    DeviceId exported(DeviceId id) const { return id == home_ ? DeviceId{} : id; }
    Tensor value_of(int variable) const { return variable < 0 ? Tensor() : values_[size_t(variable)]; }

    Tensor from_outside(const Variable& variable) {
        if (variable.kind == Kind::argument)
            return builder_.input(variable.spec, text("arg_", variable.at), exported(variable.device));
        if (variable.constant) {
            // The constant of a tensor on another device is a symbol: a host tensor would stay on the host.
            auto named = names_.find(variable.constant.impl());
            ValueId id = builder_.graph().add_constant(variable.constant, {}, exported(variable.device));
            if (named != names_.end()) builder_.graph().value(id).name = named->second;
            return builder_.symbol(id);
        }
        if (variable.kind == Kind::external)
            throw UserError(
                "the function used tensors that are not arguments: trace with capture_as_const=True",
                ErrorClass::value);
        return {};
    }

    void add(const Step& step) {
        Tensors inputs;
        for (int input : step.inputs) inputs.push_back(value_of(input));
        auto params = step.params;
        if (step.op == &ops::ToDevice::info)
            params = std::make_shared<ops::ToDevice::Params>(
                ops::ToDevice::Params{exported(step.op->place(params.get()))});
        Tensors outputs = builder_.apply(*step.op, params.get(), inputs);
        for (size_t k = 0; k < outputs.size(); ++k) {
            if (inputs.empty())
                outputs[k] = put(outputs[k], trace_.variables_[size_t(step.outputs[k])].device);
            values_[size_t(step.outputs[k])] = outputs[k];
        }
    }

    void add_check(const KeptValue& kept) {
        DeviceId place = exported(trace_.variables_[size_t(kept.variable)].device);
        Tensor expected = builder_.symbol(builder_.graph().add_constant(kept.value, {}, place));
        Tensor value = value_of(kept.variable);
        if (kept.is_length) {
            ops::ShapeOf::Params first{.axis = 0};
            value = builder_.apply(ops::ShapeOf::info, &first, {{value}})[0];
        }
        ops::AssertEqual::Params params{.max_error = 0, .claim = kept.claim};
        builder_.apply(ops::AssertEqual::info, &params, {{expected, value}});
    }

    // Sets the device of a value that has no inputs.
    Tensor put(const Tensor& symbol, DeviceId place) {
        ValueId id = symbol.impl()->symbol;
        builder_.graph().value(id).device = exported(place);
        return builder_.symbol(id);
    }

    const Trace& trace_;
    GraphBuilder builder_;
    std::unordered_map<const TensorImpl*, std::string_view> names_;
    Tensors values_;  // by variable
    DeviceId home_;
};

Graph Trace::graph(const TensorNames& names, bool checks_kept_values) const {
    if (!recorded_) throw UserError("nothing was traced yet: call the function first");
    return Export(*this, names).run(checks_kept_values);
}

std::vector<std::string> Trace::open_lengths() const { return Export(*this, {}).open_claims(); }

// Work outside of the trace may have replaced any earlier value, in this call or another one. Later uses of
// such a value count as external.
void Trace::cut_off() {
    std::erase_if(ids_, [&](auto& entry) {
        Kind kind = variables_[size_t(entry.second)].kind;
        return kind == Kind::computed || kind == Kind::argument;
    });
}

Shape recorded_shape(const Tensor& x) {
    const Trace* trace = running_trace;
    if (!trace) return x.shape();
    int id = -1;
    if (x.is_symbolic() && x.impl()->symbol_owner == trace)
        id = x.impl()->symbol;
    else if (auto it = trace->ids_.find(x.impl()); it != trace->ids_.end())
        id = it->second;
    return id < 0 ? x.shape() : trace->variables_[size_t(id)].spec.shape;
}

Trace* Trace::pause() {
    Trace* trace = running_trace;
    if (!trace) return nullptr;
    trace->flush();
    running_trace = nullptr;
    exchange_base_interpreter(trace->outer_);
    return trace;
}

void Trace::resume(Trace* trace) {
    if (!trace) return;
    if (!trace->options_.capture_as_const) trace->cut_off();
    running_trace = trace;
    exchange_base_interpreter(trace);
}

}  // namespace mge
