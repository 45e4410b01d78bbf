// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/megengine/build_graph.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "libmge/base/number_text.h"
#include "libmge/graph/builder.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/model/import/megengine/operators/quantised.h"
#include "libmge/ops/elementwise/convert/convert.h"

namespace mge::megengine {
namespace {

constexpr std::string_view expectation_suffix = ":expect";
constexpr size_t most_problems = 64;  // in one message
// Limits of reading: the number of our operators (unrolled layers have many), and the bytes computed from
// constants beyond four times those of the file.
constexpr size_t most_nodes = 1'000'000, constant_slack = size_t(64) << 20;
constexpr size_t longest_name = 512;

bool is_input(const OperatorRecord& op) { return op.type == input_type; }
bool is_assertion(const OperatorRecord& op) { return op.type == assert_type; }

class Import {
public:
    Import(const ModelRecord& record, const std::string& label) : record_(record), label_(label) {
        notes_.constant_bytes = constant_slack;
        for (auto& op : record.operators)
            for (auto& tensor : op.tensors) notes_.constant_bytes += 4 * tensor.data.size();
    }

    BuiltGraph build() {
        if (!record_.values_are_certain) refuse_unknown_types();
        number_values();
        find_live_operators();
        InterpreterScope scope(builder_);
        for (size_t i = 0; i < record_.operators.size(); ++i)
            if (live_[i]) import(i);
        throw_problems();
        add_outputs();
        name_constants();
        result_.graph = builder_.take();
        return std::move(result_);
    }

private:
    template <class... Args>
    [[noreturn]] void fail(const Args&... what) const {
        throw ModelError(text("'", label_, "' is not a valid MegEngine model: ", what...));
    }

    std::string place(size_t i) const {
        auto& op = record_.operators[i];
        std::string_view name = op.name;
        if (name.empty() && !op.outputs.empty()) name = value_name(op.outputs[0]);
        return name.empty() ? text("operator ", i, " (", op.type, ")")
                            : text("operator ", i, " '", name.substr(0, longest_name), "' (", op.type, ")");
    }
    std::string_view value_name(uint32_t value) const {
        return value < record_.value_names.size() ? record_.value_names[value] : std::string_view();
    }

    void refuse_unknown_types() {
        for (size_t i = 0; i < record_.operators.size(); ++i) {
            auto& op = record_.operators[i];
            if (!is_input(op) && !is_assertion(op) && !find_operator(op.type)) add_problem(place(i));
        }
        throw_problems();
    }

    void add_problem(const std::string& what) {
        if (++problem_count_ <= most_problems) problems_ += text(problems_.empty() ? "" : "; ", what);
    }
    void throw_problems() const {
        if (!problem_count_) return;
        std::string more =
            problem_count_ > most_problems ? text("; and ", problem_count_ - most_problems, " more") : "";
        throw ModelError(text(
            "'", label_, "' (", record_.format, ") has ", problem_count_,
            problem_count_ == 1 ? " operator that is not supported: " : " operators that are not supported: ",
            problems_, more));
    }

    // Values are numbered in the order in which they are made, and made before they are read.
    void number_values() {
        for (size_t i = 0; i < record_.operators.size(); ++i) {
            auto& op = record_.operators[i];
            for (uint32_t input : op.inputs)
                if (input >= producers_.size())
                    fail(place(i), " reads value ", input, " before it is computed");
            for (uint32_t output : op.outputs) {
                if (output != producers_.size())
                    fail(place(i), " computes value ", output, ", expected value ", producers_.size());
                producers_.push_back(i);
            }
            if (is_input(op)) result_.file_inputs.push_back(std::string(input_record(i).name));
            if (is_assertion(op) && op.inputs.size() < 2)
                fail(place(i), " has ", counted(op.inputs.size(), "input"), ", expected two");
        }
        std::ranges::sort(result_.file_inputs);
        for (auto& output : record_.outputs)
            if (output.value >= producers_.size())
                fail("output value ", output.value, " of ", producers_.size(), " does not exist");
        if (record_.outputs.empty()) fail("it has no outputs");
        values_.resize(producers_.size());
        is_poisoned_.resize(producers_.size());
    }

    const TensorRecord& input_record(size_t i) const {
        auto& op = record_.operators[i];
        if (op.tensors.size() != 1 || op.outputs.size() != 1)
            fail(place(i), " is an input with ", counted(op.tensors.size(), "tensor"), " and ",
                 counted(op.outputs.size(), "output"), ", expected one of each");
        return op.tensors[0];
    }

    // Operators that an output needs, and all inputs except those read only by an assertion.
    void find_live_operators() {
        live_.assign(record_.operators.size(), false);
        std::set<size_t> expected;
        for (auto& op : record_.operators)
            if (is_assertion(op)) expected.insert(producers_[op.inputs[0]]);
        for (size_t i = 0; i < record_.operators.size(); ++i)
            live_[i] = is_input(record_.operators[i]) && !expected.contains(i);
        for (auto& output : record_.outputs) live_[producers_[output.value]] = true;
        for (size_t i = record_.operators.size(); i-- > 0;) {
            auto& op = record_.operators[i];
            if (!live_[i]) continue;
            if (is_assertion(op))
                live_[producers_[op.inputs[1]]] = true;
            else
                for (uint32_t input : op.inputs) live_[producers_[input]] = true;
        }
    }

    void import(size_t i) {
        auto& op = record_.operators[i];
        size_t first_node = builder_.graph().nodes().size();
        try {
            if (is_input(op))
                store(i, {add_input(i)});
            else if (is_assertion(op))
                store(i, {values_[op.inputs[1]]});
            else
                translate(i);
        } catch (const Unsupported& problem) {
            add_problem(problem.what.empty() ? place(i) : text(place(i), ": ", problem.what));
            for (uint32_t output : op.outputs) is_poisoned_[output] = true;
        } catch (const ModelError&) {
            throw;
        } catch (const UserError& e) {
            fail(place(i), ": ", e.what());
        }
        if (builder_.graph().nodes().size() > most_nodes)
            fail(place(i), ": the file's operators become more than ", most_nodes, " operators");
        name_nodes(op, first_node);
    }

    void name_nodes(const OperatorRecord& op, size_t first) {
        std::string_view name = op.name.empty() && !op.outputs.empty() ? value_name(op.outputs[0]) : op.name;
        for (size_t n = first; n < builder_.graph().nodes().size(); ++n)
            builder_.graph().node(NodeId(n)).name = std::string(name.substr(0, longest_name));
    }

    Tensor add_input(size_t i) {
        auto& input = input_record(i);
        if (input.dtype.dtype == DType::none) unsupported("an input of dtype ", name_of(input.dtype.type));
        Shape shape = input.shape.rank() ? input.shape : Shape{1};
        return builder_.input({input.dtype.dtype, shape, {}}, std::string(input.name));
    }

    void translate(size_t i) {
        auto& op = record_.operators[i];
        check_support(op);
        Tensors inputs;
        bool is_poisoned = false;
        for (uint32_t input : op.inputs) {
            inputs.push_back(values_[input]);
            is_poisoned = is_poisoned || is_poisoned_[input];
            if (!inputs.back() && !is_poisoned_[input])
                unsupported("it reads a value that only a gradient needs");
        }
        if (is_poisoned) {  // the reason was noted where it arose
            for (uint32_t output : op.outputs) is_poisoned_[output] = true;
            return;
        }
        Site site(op, inputs, notes_);
        Tensors outputs =
            touches_quantised(site) ? import_quantised(site) : find_operator(op.type)->import(site);
        if (std::ranges::any_of(outputs, [](auto& t) { return t && !t.shape().is_known(); }))
            for (uint32_t output : op.outputs) notes_.ranks[output] = rank_of_results(site);
        store(i, outputs);
    }

    // Checks that need no inputs.
    static void check_support(const OperatorRecord& op) {
        if (!find_operator(op.type)) throw Unsupported();
        FileDType result = file_dtype(op.output_dtype);
        if (result.dtype == DType::none && !is_quantised(result))
            unsupported("a result of dtype ", name_of(result.type));
    }

    void store(size_t i, const Tensors& outputs) {
        auto& op = record_.operators[i];
        if (outputs.size() != op.outputs.size())
            fail(place(i), " has ", counted(op.outputs.size(), "output"), ", expected ", outputs.size());
        for (size_t k = 0; k < outputs.size(); ++k) {
            values_[op.outputs[k]] = outputs[k];
            std::string_view name = value_name(op.outputs[k]);
            if (!outputs[k] || name.empty()) continue;
            if (outputs[k].is_symbolic()) {
                auto& value = builder_.graph().value(outputs[k].impl()->symbol);
                if (value.name.empty()) value.name = std::string(name);
            } else {
                constant_names_.emplace(outputs[k].impl(), name);
            }
        }
    }

    // An assertion represents the value that it checks, and has that value's name.
    void add_outputs() {
        Tensors outputs;
        std::set<ValueId> taken;
        for (auto& output : record_.outputs) {
            auto& op = record_.operators[producers_[output.value]];
            std::string name(output.name.empty() ? value_name(output.value) : output.name), expectation;
            if (is_input(op) && name.empty()) name = std::string(op.tensors[0].name);
            if (is_assertion(op)) {
                auto& source = record_.operators[producers_[op.inputs[0]]];
                if (is_input(source)) expectation = std::string(source.tensors[0].name);
                name = expectation.ends_with(expectation_suffix)
                           ? expectation.substr(0, expectation.size() - expectation_suffix.size())
                           : std::string(value_name(op.inputs[1]));
            }
            if (name.empty()) name = text("output", outputs.size());
            outputs.push_back(output_tensor(values_[output.value], name, taken));
            result_.expectations.push_back(expectation);
        }
        builder_.set_outputs(outputs);
    }

    // A value has one name: inputs, constants and values that are outputs already are copied.
    Tensor output_tensor(Tensor t, const std::string& name, std::set<ValueId>& taken) {
        if (!t) fail("output '", name, "' is a value that only MegEngine's runtime has");
        bool is_made = t.is_symbolic() && builder_.graph().value(t.impl()->symbol).producer >= 0;
        if (!is_made || taken.contains(t.impl()->symbol)) t = ops::copy(t);
        taken.insert(t.impl()->symbol);
        builder_.graph().value(t.impl()->symbol).name = name;
        return t;
    }

    void name_constants() {
        for (size_t i = 0; i < builder_.graph().values().size(); ++i) {
            auto& value = builder_.graph().value(ValueId(i));
            if (!value.is_constant()) continue;
            auto found = constant_names_.find(value.constant.impl());
            if (found != constant_names_.end()) value.name = std::string(found->second);
        }
    }

    const ModelRecord& record_;
    const std::string& label_;
    BuiltGraph result_;
    GraphBuilder builder_;
    std::vector<size_t> producers_;  // producer of each value
    Tensors values_;
    std::vector<bool> is_poisoned_, live_;
    ValueNotes notes_;
    std::unordered_map<const TensorImpl*, std::string_view> constant_names_;
    std::string problems_;
    size_t problem_count_ = 0;
};

}  // namespace

BuiltGraph build_graph(const ModelRecord& record, const std::string& label) {
    return Import(record, label).build();
}

}  // namespace mge::megengine
