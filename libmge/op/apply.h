// SPDX-License-Identifier: Apache-2.0
#pragma once
// The single entry point for applying operators: dtype promotion, then the innermost interpreter of this
// thread.

#include <span>
#include <utility>

#include "libmge/op/op.h"

namespace mge {

// Marks a concrete tensor as a number literal of the program, in TensorImpl::symbol, which concrete tensors
// do not use otherwise. Recorders store it as a constant, and traces expect the same number in later calls.
inline constexpr int literal_mark = -2;

// Runs or records operators. Interpreters form a stack per thread; the eager one is at the bottom.
class MGE_API Interpreter {
public:
    virtual ~Interpreter() = default;
    virtual Tensors apply(const OpInfo& op, const void* params, std::span<const Tensor> inputs) = 0;
    // Like apply() for operators with exactly one output; saves a vector.
    virtual Tensor apply_one(const OpInfo& op, const void* params, std::span<const Tensor> inputs) {
        return apply(op, params, inputs).at(0);
    }
    // Returns another handle for a symbolic value of this interpreter.
    virtual Tensor alias(const Tensor& symbol) {
        const TensorImpl& impl = *symbol.impl();
        return Tensor::symbolic(impl.spec, impl.symbol_owner, impl.symbol, impl.device);
    }
    // Like apply(), but inputs may lend their memory to outputs.
    virtual Tensors update(const OpInfo& op, const void* params, std::span<const Tensor> inputs) {
        return apply(op, params, inputs);
    }
};

// Makes `interpreter` the innermost one of this thread for the life of the scope.
class MGE_API InterpreterScope {
public:
    explicit InterpreterScope(Interpreter& interpreter);
    ~InterpreterScope();
    InterpreterScope(const InterpreterScope&) = delete;
    InterpreterScope& operator=(const InterpreterScope&) = delete;

private:
    Interpreter* outer_;
};

MGE_API Interpreter& current_interpreter();
// Sets the innermost interpreter (nullptr: the eager one) and returns the previous one. For recording that
// calls start and stop; scopes push theirs on top.
MGE_API Interpreter* exchange_interpreter(Interpreter* interpreter);
// Defined by eager/eager_interpreter.cpp, a higher layer.
MGE_API Interpreter& eager_interpreter();

// `inputs` are in the order of op.inputs, null for absent optional ones, with variadic ones at the end.
// Trailing absent inputs may be omitted. Throws UserError (class TypeError) if a required input is missing or
// there are too many.
MGE_API Tensors apply(const OpInfo& op, const void* params, std::span<const Tensor> inputs);
MGE_API Tensor apply_one(const OpInfo& op, const void* params, std::span<const Tensor> inputs);
// Applies an operator whose outputs update inputs in place (OpInfo::in_place). An input whose only handle is
// passed and whose memory is not shared lends its memory to the output, so the caller must not read it again.
// Otherwise, and while operators are recorded, it behaves like apply().
MGE_API Tensors update(const OpInfo& op, const void* params, std::span<const Tensor> inputs);

// The `convert` operator, for promotion. Defined by ops/elementwise/convert/convert.cpp.
MGE_API Tensor convert_dtype(const Tensor& x, DType dtype);

// A list of tensors as a function argument: concat({a, b}).
class TensorList {
public:
    TensorList(std::initializer_list<Tensor> list) : list_(list) {}
    TensorList(Tensors list) : list_(std::move(list)) {}
    const Tensors& tensors() const { return list_; }

private:
    Tensors list_;
};

// A C++ function made from an operator: softmax(x, {.axis = 1}); conv2d(x, w, {…}) or conv2d(x, w, bias,
// residual, {…}); concat({a, b}, {.axis = 1}). One output: Tensor; several: Tensors.
template <class O, bool OneOutput = true>
struct OpFunction {
    using P = typename O::Params;
    using Result = std::conditional_t<OneOutput, Tensor, Tensors>;

    template <class... T>
    requires((std::is_same_v<std::remove_cvref_t<T>, Tensor> && ...) && sizeof...(T) <= 8) static Result
        call(const P& params, const T&... inputs) {
        return call_span(params, BorrowedTensors<sizeof...(T)>(inputs...));
    }
    static Result call_span(const P& params, std::span<const Tensor> inputs) {
        if constexpr (OneOutput)
            return apply_one(O::info, &params, inputs);
        else
            return apply(O::info, &params, inputs);
    }

    Result operator()(const P& params = {}) const { return call(params); }
    Result operator()(const Tensor& a, const P& params = {}) const { return call(params, a); }
    Result operator()(const Tensor& a, const Tensor& b, const P& params = {}) const {
        return call(params, a, b);
    }
    Result operator()(const Tensor& a, const Tensor& b, const Tensor& c, const P& params = {}) const {
        return call(params, a, b, c);
    }
    Result operator()(const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d,
                      const P& params = {}) const {
        return call(params, a, b, c, d);
    }
    Result operator()(const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d, const Tensor& e,
                      const P& params = {}) const {
        return call(params, a, b, c, d, e);
    }
    Result operator()(const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d, const Tensor& e,
                      const Tensor& f, const P& params = {}) const {
        return call(params, a, b, c, d, e, f);
    }
    Result operator()(const TensorList& inputs, const P& params = {}) const {
        return call_span(params, inputs.tensors());
    }
};

}  // namespace mge
