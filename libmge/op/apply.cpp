// SPDX-License-Identifier: Apache-2.0
#include "libmge/op/apply.h"

#include "libmge/base/number_text.h"
#include "libmge/op/autocast.h"
#include "libmge/tensor/same_place.h"

namespace mge {
namespace {

[[gnu::tls_model("initial-exec")]] constinit thread_local Interpreter* innermost = nullptr;
[[gnu::tls_model("initial-exec")]] constinit thread_local MixedPrecision mixed;

[[noreturn]] void throw_no_common(const OpInfo& op, DType a, DType b) {
    throw_user(op.name,
               text("dtypes ", a, " and ", b, " have no common type; convert one of them with astype"));
}

bool takes_part(const OpInfo& op, size_t i, const Tensor& input) {
    return input && input_info(op, i).promoted;
}

DType cast_dtype(CastTo to, DType dtype) {
    if (to == CastTo::as_given || !is_float(dtype)) return dtype;
    return to == CastTo::low ? mixed.low : mixed.high;
}

DType promoted_dtype(const OpInfo& op, const void* params, std::span<const Tensor> inputs) {
    DType result = DType::none;
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (!takes_part(op, i, inputs[i])) continue;
        DType dtype = inputs[i].dtype();
        if (result == DType::none) {
            result = dtype;
            if (op.traits.promotion == Promotion::to_first) break;
            continue;
        }
        auto common = common_dtype(result, dtype);
        if (!common) throw_no_common(op, result, dtype);
        result = *common;
    }
    if (op.traits.promotion == Promotion::floating && is_int(result)) result = DType::f32;
    return mixed.enabled ? cast_dtype(cast_of(op, params), result) : result;
}

// True if promotion changes nothing, which is the common case.
bool is_promoted(const OpInfo& op, const void* params, std::span<const Tensor> inputs) {
    if (op.traits.promotion == Promotion::none) return true;
    if (mixed.enabled && cast_of(op, params) != CastTo::as_given) return false;
    DType first = DType::none;
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (!takes_part(op, i, inputs[i])) continue;
        if (first == DType::none) first = inputs[i].dtype();
        if (inputs[i].dtype() != first) return false;
    }
    return op.traits.promotion != Promotion::floating || !is_int(first);
}

Tensors promote(const OpInfo& op, const void* params, std::span<const Tensor> inputs) {
    Tensors result(inputs.begin(), inputs.end());
    DType dtype = promoted_dtype(op, params, inputs);
    for (size_t i = 0; i < result.size(); ++i)
        if (takes_part(op, i, result[i]) && result[i].dtype() != dtype)
            result[i] = convert_dtype(result[i], dtype);
    return result;
}

void check_inputs(const OpInfo& op, std::span<const Tensor> inputs) {
    if (inputs.size() > op.inputs.size() && !op.is_variadic())
        throw_type_error(op.name, "takes at most ", counted(op.inputs.size(), "input"), ", got ",
                         inputs.size());
    for (size_t i = 0; i < op.inputs.size(); ++i)
        if (op.inputs[i].kind == InputKind::required && (i >= inputs.size() || !inputs[i]))
            throw_type_error(op.name, "input '", op.inputs[i].name, "' is missing");
    for (size_t i = op.inputs.size(); i < inputs.size(); ++i)
        if (!inputs[i]) throw_type_error(op.name, "input ", i, " of the list is missing");
}

// Refuses inputs on different devices, except host values.
void check_places(const OpInfo& op, const void* params, std::span<const Tensor> inputs) {
    const TensorImpl* first = nullptr;
    for (auto& input : inputs) {
        if (!input) continue;
        if (first && !(first->device == input.impl()->device)) [[unlikely]] {
            place_of_outputs(op, params, inputs, host_device);
            return;
        }
        first = input.impl();
    }
}

bool may_be_absent(const OpInfo& op, size_t first) {
    for (auto& input : op.inputs.subspan(first))
        if (input.kind != InputKind::optional && input.kind != InputKind::host) return false;
    return true;
}

// The fast path of nearly all calls: all required inputs are given and have one dtype and device, and none is
// promoted.
bool is_plain_call(const OpInfo& op, std::span<const Tensor> inputs) {
    if (mixed.enabled) return false;
    const size_t count = inputs.size();
    if (count == 0 || count > op.inputs.size()) return false;
    if (count < op.inputs.size() ? !may_be_absent(op, count) : op.inputs.back().variadic_host) return false;
    if (!inputs[0]) return false;
    const TensorImpl& first = *inputs[0].impl();
    for (size_t i = 1; i < count; ++i) {
        if (!inputs[i]) {
            if (op.inputs[i].kind != InputKind::optional) return false;
            continue;
        }
        const TensorImpl& other = *inputs[i].impl();
        if (other.spec.dtype != first.spec.dtype || !is_same_place(other.device, first.device)) return false;
    }
    return op.traits.promotion != Promotion::floating || !is_int(first.spec.dtype);
}

inline Interpreter& interpreter_of_thread() { return innermost ? *innermost : eager_interpreter(); }

template <auto method>
inline auto run(const OpInfo& op, const void* params, std::span<const Tensor> inputs) {
    if (is_plain_call(op, inputs)) [[likely]]
        return (interpreter_of_thread().*method)(op, params, inputs);
    check_inputs(op, inputs);
    check_places(op, params, inputs);
    if (is_promoted(op, params, inputs)) return (interpreter_of_thread().*method)(op, params, inputs);
    return (interpreter_of_thread().*method)(op, params, promote(op, params, inputs));
}

}  // namespace

InterpreterScope::InterpreterScope(Interpreter& interpreter)
    : outer_(std::exchange(innermost, &interpreter)) {}
InterpreterScope::~InterpreterScope() { innermost = outer_; }

Interpreter* exchange_interpreter(Interpreter* interpreter) { return std::exchange(innermost, interpreter); }

MixedPrecision mixed_precision() { return mixed; }

void set_mixed_precision(const MixedPrecision& settings) {
    for (DType dtype : {settings.low, settings.high})
        if (!is_float(dtype)) throw_user("autocast", text("casts between floating dtypes, got ", dtype));
    mixed = settings;
}

MixedPrecisionPaused::MixedPrecisionPaused() : was_enabled_(std::exchange(mixed.enabled, false)) {}
MixedPrecisionPaused::~MixedPrecisionPaused() { mixed.enabled = was_enabled_; }

Interpreter& current_interpreter() { return interpreter_of_thread(); }

Tensors apply(const OpInfo& op, const void* params, std::span<const Tensor> inputs) {
    return run<&Interpreter::apply>(op, params, inputs);
}

Tensor apply_one(const OpInfo& op, const void* params, std::span<const Tensor> inputs) {
    return run<&Interpreter::apply_one>(op, params, inputs);
}

Tensors update(const OpInfo& op, const void* params, std::span<const Tensor> inputs) {
    return run<&Interpreter::update>(op, params, inputs);
}

}  // namespace mge
