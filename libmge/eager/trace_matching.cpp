// SPDX-License-Identifier: Apache-2.0
// Identifies tensors with variables of a trace. While recording, a new tensor gets a new variable. In later
// calls the recorded variable is expected.

#include <cstring>
#include <utility>

#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/eager/trace.h"
#include "libmge/op/apply.h"

namespace mge {
namespace {

// An optional input is given in one call only.
constexpr int absent_instead = -2;

// Compares values on any devices.
bool same_bytes(const Tensor& a, const Tensor& b) {
    if (!(a.spec() == b.spec())) return false;
    if (a.address() == b.address()) return true;
    return std::memcmp(to_host(a).data(), to_host(b).data(), a.spec().bytes()) == 0;
}

}  // namespace

int Trace::add_variable(Kind kind, const Tensor& tensor, int at) {
    variables_.push_back({kind, tensor.spec(), tensor.device(), at, {}, {}, {}});
    present_.emplace_back();
    bind(int(variables_.size()) - 1, tensor);
    return int(variables_.size()) - 1;
}

int Trace::new_external(const Tensor& tensor) {
    bool literal = tensor.impl()->symbol == literal_mark;
    bool captured = !literal && options_.capture_as_const && tensor.impl()->symbol != stream_mark;
    int id = add_variable(literal ? Kind::literal : Kind::external, tensor, 0);
    auto& variable = variables_[size_t(id)];
    if (literal || options_.capture_as_const) variable.constant = tensor;
    if (captured) variable.captured = tensor.alias();
    bool shapes_may_follow = is_int(tensor.dtype()) && tensor.spec().numel() <= known_value_limit;
    if (literal || (captured && shapes_may_follow)) variable.on_host = to_host(tensor);
    return id;
}

// Whether a call may have another tensor from outside in the place of the variable.
bool Trace::may_replace(const Variable& variable) const {
    return variable.kind != Kind::computed && !(variable.kind == Kind::argument && options_.capture_as_const);
}

// Checks `tensor` against an external value of the recording, which it replaces in this call.
int Trace::match_external(const Tensor& tensor, int expected) {
    const Variable& variable = variables_[size_t(expected)];
    if (variable.kind == Kind::computed)
        fail("expect internal node, got external: a tensor from outside of the function");
    if (!may_replace(variable)) fail("input id mismatch: an external tensor instead of an argument");
    if (variable.spec.dtype != tensor.dtype())
        fail(text("dtype mismatch: ", tensor.dtype(), " instead of ", variable.spec.dtype));
    if (variable.kind == Kind::literal) {
        if (!same_bytes(variable.on_host, tensor)) fail("tensors not equals: a number has changed");
        bind(expected, tensor);
        return expected;
    }
    if (variable.captured && !same_bytes(variable.captured, tensor))
        fail(text("tensors not equals: a tensor of ", tensor.spec(),
                  " that the recording has as a constant has changed, as statistics do in training mode"));
    auto& present = present_[size_t(expected)];
    bool is_same = !present.bound || present.handle.is_same(tensor) ||
                   (present.handle.device() == tensor.device() && same_bytes(present.handle, tensor));
    if (!is_same) fail("input id mismatch: another external tensor was used");
    if (!present.bound) bind(expected, tensor);
    return expected;
}

// Returns the variable of a tensor. `expected` is the recorded one, -1 while recording.
int Trace::identify(const Tensor& tensor, int expected) {
    if (!tensor) return -1;
    if (tensor.is_symbolic()) {
        if (tensor.impl()->symbol_owner != this)
            throw UserError("a tensor of another trace or graph cannot be used here");
        return tensor.impl()->symbol;
    }
    if (auto it = ids_.find(tensor.impl()); it != ids_.end()) {
        bool other = expected >= 0 && it->second != expected;
        // Two variables may hold the same tensor in this call: take the recorded one.
        bool external = other && may_replace(variables_[size_t(expected)]) &&
                        variables_[size_t(it->second)].kind != Kind::computed;
        return external ? match_external(tensor, expected) : it->second;
    }
    return recorded_ ? match_external(tensor, expected) : new_external(tensor);
}

std::vector<int> Trace::identify_all(std::span<const Tensor> inputs) {
    std::vector<int> ids;
    for (auto& input : inputs) ids.push_back(identify(input, -1));
    return ids;
}

const Trace::Step& Trace::record_step(const OpInfo& op, const void* params, std::vector<int> inputs,
                                      std::span<const Tensor> outputs) {
    Step step{&op, op.params.copy(params), std::move(inputs), {}};
    for (auto& output : outputs)
        step.outputs.push_back(add_variable(Kind::computed, output, int(steps_.size())));
    steps_.push_back(std::move(step));
    ++position_;
    return steps_.back();
}

// MegEngine's words for a variable in the place of another one.
const char* Trace::mismatch(int given, int expected) const {
    auto is_computed = [&](int id) { return id >= 0 && variables_[size_t(id)].kind == Kind::computed; };
    if (given < 0 || expected < 0 || is_computed(given) == is_computed(expected)) return "input id mismatch";
    return is_computed(expected) ? "expect internal node, got external"
                                 : "expect external node, got internal";
}

const Trace::Step& Trace::check_step(const OpInfo& op, const void* params, std::span<const Tensor> inputs) {
    if (size_t(position_) >= steps_.size())
        fail(text("too many instructions: the recording ends before operator ", op.name));
    const Step& step = steps_[size_t(position_)];
    if (step.op != &op) fail(text("operator mismatch: ", op.name, " instead of ", step.op->name));
    if (!op.params.equal(step.params.get(), params))
        fail(text("operator mismatch: ", op.name, '(', params_text(op.fields, params), ") instead of (",
                  params_text(op.fields, step.params.get()), ')'));
    if (step.inputs.size() != inputs.size())
        fail(text("operator mismatch: ", op.name, " has ", counted(inputs.size(), "input"), " instead of ",
                  step.inputs.size()));
    for (size_t i = 0; i < inputs.size(); ++i) {
        int expected = step.inputs[i];
        int given = (expected < 0) == !inputs[i] ? identify(inputs[i], expected) : absent_instead;
        if (given != expected) fail(text(mismatch(given, expected), ": input ", i, " of ", op.name));
    }
    return step;
}

}  // namespace mge
