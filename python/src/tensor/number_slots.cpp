// SPDX-License-Identifier: Apache-2.0
// The arithmetic of _mge.Tensor: each slot is one operator.

#include <algorithm>
#include <array>
#include <tuple>

#include "libmge/op/apply.h"
#include "python/src/call_op.h"
#include "python/src/errors.h"
#include "python/src/meaning.h"
#include "python/src/reference.h"
#include "python/src/subgraph_binding.h"
#include "python/src/tensor/conversion.h"
#include "python/src/tensor/tensor_object.h"

namespace mge::python {
namespace {

// Operators behind slots, looked up once by name.
enum Slot {
    add,
    sub,
    mul,
    div,
    floor_div,
    mod,
    pow,
    matmul,
    logical_and,
    logical_or,
    logical_xor,
    left_shift,
    right_shift,
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal,
    neg,
    abs_value,
    logical_not,
    round_value,
    floor_value,
    ceil_value,
    slot_count
};
constexpr std::array<std::string_view, slot_count> slot_names = {
    "add",         "sub",         "mul",        "div",         "floor_div",     "mod",         "pow",
    "matmul",      "logical_and", "logical_or", "logical_xor", "left_shift",    "right_shift", "equal",
    "not_equal",   "less",        "less_equal", "greater",     "greater_equal", "neg",         "abs",
    "logical_not", "round",       "floor",      "ceil"};
std::array<const OpInfo*, slot_count> slot_ops{};
std::array<std::shared_ptr<void>, slot_count> slot_params;

[[noreturn]] void throw_missing(Slot slot) {
    throw UserError(text("[Tensor] this build has no operator '", slot_names[slot], "'"),
                    ErrorClass::not_implemented);
}

const OpInfo& op_of(Slot slot) {
    if (!slot_ops[slot]) [[unlikely]]
        throw_missing(slot);
    return *slot_ops[slot];
}

[[gnu::noinline]] PyObject* apply_to_any(Slot slot, std::span<PyObject* const> operands) {
    const OpInfo& op = op_of(slot);
    if (any_meaning(operands.data(), Py_ssize_t(operands.size()))) [[unlikely]]
        return call_by_meaning(op, operands.data(), Py_ssize_t(operands.size()), nullptr);
    Inputs inputs(operands.size());
    convert_inputs(op, operands, inputs);
    return call_op(op, slot_params[slot].get(), inputs);
}

template <size_t count>
PyObject* apply_slot(Slot slot, const std::array<PyObject*, count>& operands) {
    if (running_captures || !std::ranges::all_of(operands, is_light)) return apply_to_any(slot, operands);
    auto lent = [](auto*... tensors) { return BorrowedTensors<count>(value_of(tensors)...); };
    return wrap_tensor(apply_one(op_of(slot), slot_params[slot].get(), std::apply(lent, operands)));
}

template <Slot slot>
PyObject* binary(PyObject* a, PyObject* b) {
    return guarded([&] { return apply_slot(slot, std::array{a, b}); });
}

template <Slot slot>
PyObject* unary(PyObject* a) {
    return guarded([&] { return apply_slot(slot, std::array{a}); });
}

// x += y gives the object x another value.
template <Slot slot>
PyObject* in_place(PyObject* a, PyObject* b) {
    if (!is_tensor(a)) return binary<slot>(a, b);
    return guarded([&] {
        Reference result(apply_slot(slot, std::array{a, b}));
        if (!result) return static_cast<PyObject*>(nullptr);
        take_over(a, result.get());
        return Py_NewRef(a);
    });
}

bool is_bool_like(PyObject* operand) {
    if (is_tensor(operand)) return value_of(operand).dtype() == DType::boolean;
    Reference dtype(PyObject_GetAttrString(operand, "dtype"));
    Reference kind(dtype ? PyObject_GetAttrString(dtype.get(), "kind") : nullptr);
    clear_exception();
    return kind && PyUnicode_Check(kind.get()) && PyUnicode_CompareWithASCIIString(kind.get(), "b") == 0;
}

// & | ^ accept only bool tensors and arrays.
template <Slot slot>
PyObject* logical(PyObject* a, PyObject* b) {
    return guarded([&] {
        if (!is_bool_like(a) || !is_bool_like(b))
            throw_type_error(slot_names[slot], "& | ^ take two bool tensors");
        return apply_slot(slot, std::array{a, b});
    });
}

template <Slot slot>
PyObject* in_place_logical(PyObject* a, PyObject* b) {
    Reference result(logical<slot>(a, b));
    if (!result || !is_tensor(a)) return result.release();
    take_over(a, result.get());
    return Py_NewRef(a);
}

PyObject* invert(PyObject* a) {
    return guarded([&] {
        if (!is_bool_like(a)) throw_type_error("logical_not", "~ takes a bool tensor");
        return apply_slot(logical_not, std::array{a});
    });
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
    if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
    return binary<pow>(a, b);
}
PyObject* in_place_power(PyObject* a, PyObject* b, PyObject* modulus) {
    if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
    return in_place<pow>(a, b);
}

PyObject* positive(PyObject* a) {
    return guarded([&] { return wrap_like(value_of(a), a); });
}

PyObject* number_of(PyObject* self) {
    return guarded([&] { return number_from_tensor(self); });
}

int to_bool(PyObject* self) {
    Reference number(number_of(self));
    return number ? PyObject_IsTrue(number.get()) : -1;
}
PyObject* to_int(PyObject* self) {
    Reference number(number_of(self));
    return number ? PyNumber_Long(number.get()) : nullptr;
}
PyObject* to_float(PyObject* self) {
    Reference number(number_of(self));
    return number ? PyNumber_Float(number.get()) : nullptr;
}
PyObject* to_index(PyObject* self) {
    Reference number(number_of(self));
    return number ? PyNumber_Index(number.get()) : nullptr;
}

}  // namespace

std::span<const PyType_Slot> tensor_number_slots() {
    static const std::array slots{
        type_slot(Py_nb_add, binary<add>),
        type_slot(Py_nb_subtract, binary<sub>),
        type_slot(Py_nb_multiply, binary<mul>),
        type_slot(Py_nb_remainder, binary<mod>),
        type_slot(Py_nb_power, power),
        type_slot(Py_nb_negative, unary<neg>),
        type_slot(Py_nb_positive, positive),
        type_slot(Py_nb_absolute, unary<abs_value>),
        type_slot(Py_nb_bool, to_bool),
        type_slot(Py_nb_invert, invert),
        type_slot(Py_nb_lshift, binary<left_shift>),
        type_slot(Py_nb_rshift, binary<right_shift>),
        type_slot(Py_nb_and, logical<logical_and>),
        type_slot(Py_nb_xor, logical<logical_xor>),
        type_slot(Py_nb_or, logical<logical_or>),
        type_slot(Py_nb_int, to_int),
        type_slot(Py_nb_float, to_float),
        type_slot(Py_nb_inplace_add, in_place<add>),
        type_slot(Py_nb_inplace_subtract, in_place<sub>),
        type_slot(Py_nb_inplace_multiply, in_place<mul>),
        type_slot(Py_nb_inplace_remainder, in_place<mod>),
        type_slot(Py_nb_inplace_power, in_place_power),
        type_slot(Py_nb_inplace_lshift, in_place<left_shift>),
        type_slot(Py_nb_inplace_rshift, in_place<right_shift>),
        type_slot(Py_nb_inplace_and, in_place_logical<logical_and>),
        type_slot(Py_nb_inplace_xor, in_place_logical<logical_xor>),
        type_slot(Py_nb_inplace_or, in_place_logical<logical_or>),
        type_slot(Py_nb_floor_divide, binary<floor_div>),
        type_slot(Py_nb_true_divide, binary<div>),
        type_slot(Py_nb_inplace_floor_divide, in_place<floor_div>),
        type_slot(Py_nb_inplace_true_divide, in_place<div>),
        type_slot(Py_nb_index, to_index),
        type_slot(Py_nb_matrix_multiply, binary<matmul>),
        type_slot(Py_nb_inplace_matrix_multiply, in_place<matmul>),
    };
    return slots;
}

PyObject* compare_tensors(PyObject* a, PyObject* b, int operation) {
    switch (operation) {
        case Py_EQ:
            return binary<equal>(a, b);
        case Py_NE:
            return binary<not_equal>(a, b);
        case Py_LT:
            return binary<less>(a, b);
        case Py_LE:
            return binary<less_equal>(a, b);
        case Py_GT:
            return binary<greater>(a, b);
        default:
            return binary<greater_equal>(a, b);
    }
}

PyObject* round_tensor(PyObject* self, PyObject* const*, Py_ssize_t) { return unary<round_value>(self); }
PyObject* floor_tensor(PyObject* self, PyObject*) { return unary<floor_value>(self); }
PyObject* ceil_tensor(PyObject* self, PyObject*) { return unary<ceil_value>(self); }
PyObject* complex_from_tensor(PyObject* self, PyObject*) {
    Reference number(number_of(self));
    return number ? PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PyComplex_Type), number.get(),
                                                 nullptr)
                  : nullptr;
}

void prepare_number_slots() {
    for (size_t i = 0; i < slot_count; ++i) {
        slot_ops[i] = find_op(slot_names[i]);
        if (slot_ops[i]) slot_params[i] = slot_ops[i]->params.make();
    }
}

}  // namespace mge::python
