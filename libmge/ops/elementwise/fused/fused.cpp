// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/fused/fused.h"

#include <algorithm>
#include <charconv>

#include "libmge/base/number_text.h"
#include "libmge/op/operator_library.h"
#include "libmge/ops/shape/layout/transpose.h"

namespace mge::ops {

namespace {

constexpr auto who = FusedElementwise::name;

// --- text of parameters: bools, integers (lists of them with colons), floats as hexadecimal (exact), words
// ---

std::string value_text(const ParamValue& value) {
    if (auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
    if (auto* i = std::get_if<int64_t>(&value)) return std::to_string(*i);
    if (auto* s = std::get_if<std::string>(&value)) return *s;
    if (auto* list = std::get_if<IntList>(&value)) {
        std::string code;
        for (int64_t i : *list) code += text(code.empty() ? "" : ":", i);
        return code;
    }
    auto* d = std::get_if<double>(&value);
    MGE_CHECK(d, "fusible operators have no list of floats as a parameter");
    return hexadecimal_text(*d);
}

[[noreturn]] void fail_on_number(std::string_view word) {
    throw_value_error(who, "'", word, "' is not a number");
}
double parse_float(std::string_view word) {
    if (auto value = parse_number(word)) return *value;
    fail_on_number(word);
}
int64_t parse_int(std::string_view word) {
    int64_t value = 0;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size()) fail_on_number(word);
    return value;
}

// Removes and returns the text before `separator`.
std::string_view take_until(std::string_view& rest, char separator) {
    size_t end = rest.find(separator);
    std::string_view word = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    return word;
}

// As the kind of value that the field has now.
ParamValue parse_value(std::string_view word, const ParamValue& like) {
    if (std::holds_alternative<bool>(like)) return word == "true";
    if (std::holds_alternative<std::string>(like)) return std::string(word);
    if (std::holds_alternative<double>(like)) return parse_float(word);
    if (!std::holds_alternative<IntList>(like)) return parse_int(word);
    IntList list;
    while (!word.empty()) list.push_back(parse_int(take_until(word, ':')));
    return list;
}

// Flags that are not set, which all of these operators have for a default, are left out.
std::string params_code(const OpInfo& op, const void* params) {
    std::string code;
    for (auto& [name, value] : save_params(op.fields, params))
        if (value != ParamValue(false)) code += text(code.empty() ? "[" : ",", name, '=', value_text(value));
    return code.empty() ? code : code + "]";
}

std::string_view trim(std::string_view s) {
    while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
    while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
    return s;
}
std::string_view take_word(std::string_view& rest) {
    rest = trim(rest);
    return take_until(rest, ' ');
}

int parse_register(std::string_view word) {
    int value = -1;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || value < 0)
        throw_value_error(who, "'", word, "' is not a register");
    return value;
}

std::shared_ptr<const void> parse_params(const OpInfo& op, std::string_view code) {
    auto params = op.params.make();
    ParamMap map, present = save_params(op.fields, params.get());
    while (!code.empty()) {
        std::string_view value = take_until(code, ',');
        std::string_view name = take_until(value, '=');
        for (auto& [known, now] : present)
            if (known == name) map.emplace_back(std::string(name), parse_value(value, now));
    }
    load_params(op.name, op.fields, params.get(), map);
    return params;
}

void parse_step(FusedProgram& program, std::string_view line) {
    std::string_view head = take_word(line);
    if (head == "const") {
        auto dtype = dtype_from_name(take_word(line));
        if (!dtype) throw_value_error(who, "a constant has no dtype");
        program.constant(parse_float(trim(line)), *dtype);
        return;
    }
    std::string_view code = head;
    std::string_view name = take_until(code, '[');
    if (!code.empty() && code.back() == ']') code.remove_suffix(1);
    const OpInfo* op = find_op(name);
    if (!op) throw_value_error(who, "there is no operator '", name, "'");
    std::vector<int> operands;
    while (!trim(line).empty()) operands.push_back(parse_register(take_word(line)));
    program.add(*op, parse_params(*op, code).get(), operands);
}

// apply() does this for an eager operator, but not here.
void check_dtypes(const OpInfo& op, const TensorSpecs& operands) {
    if (op.traits.promotion == Promotion::none) return;
    DType first = DType::none;
    for (size_t i = 0; i < operands.size(); ++i) {
        if (!input_info(op, i).promoted) continue;
        DType dtype = operands[i].dtype;
        if (op.traits.promotion == Promotion::floating && is_int(dtype))
            throw_type_error(who, op.name, " takes floats in a program, got ", dtype, "; convert it first");
        if (first == DType::none) first = dtype;
        if (dtype != first)
            throw_type_error(who, op.name, " takes operands of one dtype in a program, got ", first, " and ",
                             dtype, "; convert one of them first");
    }
}

}  // namespace

bool is_fusible(const OpInfo& op, const void*) {
    if (&op == &Transpose::info) return true;
    // A program names its operators in its text, which says of no library.
    if (library_of(op)) return false;
    return op.traits.elementwise && op.outputs.size() == 1 && !op.is_variadic() && op.inputs.size() <= 3;
}

FusedProgram FusedProgram::parse(std::string_view text) {
    std::string_view first = take_until(text, ';');
    if (take_word(first) != "inputs") throw_value_error(who, "a program starts with 'inputs N;'");
    FusedProgram program(parse_register(trim(first)));
    while (!trim(text).empty()) parse_step(program, take_until(text, ';'));
    return program;
}

std::string FusedProgram::text() const {
    std::string result = mge::text("inputs ", inputs_);
    for (auto& step : steps_) {
        if (!step.op) {
            result += mge::text("; const ", step.constant_dtype, ' ', value_text(step.constant));
            continue;
        }
        result += mge::text("; ", step.op->name, params_code(*step.op, step.params.get()));
        for (int operand : step.operands) result += mge::text(' ', operand);
    }
    return result;
}

int FusedProgram::add_step(Step step) {
    steps_.push_back(std::move(step));
    return inputs_ + int(steps_.size()) - 1;
}

int FusedProgram::add(const OpInfo& op, const void* params, const std::vector<int>& operands) {
    if (!is_fusible(op, params)) throw_value_error(who, op.name, " cannot be fused");
    if (operands.size() != op.inputs.size())
        throw_value_error(who, op.name, " takes ", counted(op.inputs.size(), "operand"), ", got ",
                          operands.size());
    for (int operand : operands)
        if (operand < 0 || operand >= inputs_ + int(steps_.size()))
            throw_value_error(who, "register ", operand, " does not exist yet");
    return add_step({&op, op.params.copy(params), operands});
}

int FusedProgram::constant(double value, DType dtype) { return add_step({nullptr, {}, {}, value, dtype}); }

TensorSpecs FusedProgram::infer(Specs inputs) const {
    if (int(inputs.size()) != inputs_)
        throw_value_error(who, "the program has ", counted(inputs_, "input"), ", got ", inputs.size());
    TensorSpecs registers(inputs.begin(), inputs.end());
    for (auto& step : steps_) {
        TensorSpecs operands;
        for (int operand : step.operands) operands.push_back(registers[size_t(operand)]);
        if (step.op) check_dtypes(*step.op, operands);
        registers.push_back(step.op ? step.op->infer(step.params.get(), operands).at(0)
                                    : TensorSpec{step.constant_dtype, {}, {}});
    }
    if (steps_.empty() || !steps_.back().op) throw_value_error(who, "the program has no result");
    return registers;
}

bool FusedProgram::moves_elements() const {
    return std::any_of(steps_.begin(), steps_.end(), [](auto& step) { return step.op == &Transpose::info; });
}

TensorSpecs FusedElementwise::infer(const Params& p, Specs in) {
    auto program = FusedProgram::parse(p.program);
    if (program.moves_elements())
        throw_value_error(name, "a transposition is not elementwise; use fused_region");
    return {program.infer(in).back()};
}

double FusedProgram::operations(Specs inputs) const {
    TensorSpecs registers = infer(inputs);
    double n = 0;
    for (size_t i = 0; i < steps_.size(); ++i) {
        auto& step = steps_[i];
        if (step.op && step.op->traits.elementwise)
            n += element_count(registers[inputs.size() + i]) *
                 double(std::max<size_t>(step.operands.size(), 2) - 1);
    }
    return n;
}

double FusedElementwise::operations(const Params& p, Specs in, Specs) {
    return FusedProgram::parse(p.program).operations(in);
}

}  // namespace mge::ops
