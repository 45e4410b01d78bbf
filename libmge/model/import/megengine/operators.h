// SPDX-License-Identifier: Apache-2.0
#pragma once
// MegEngine's operators in terms of ours: one row per operator in `operators.cpp`, one small function each in
// the file of its family. A function applies our operators to symbolic tensors, so the result also works for
// other input shapes.

#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "libmge/base/number_text.h"
#include "libmge/model/import/megengine/record.h"
#include "libmge/model/unsupported.h"
#include "libmge/tensor/tensor.h"

namespace mge::megengine {

// Information about a model's values besides their tensors, by number.
struct ValueNotes {
    std::map<uint32_t, FileDType> quantised;  // the dtypes of values kept as quantised steps
    std::map<uint32_t, int> ranks;            // ranks of the values whose sizes are known only at run time
    size_t constant_bytes = 0;                // how much more may be computed from constants while reading
};
inline constexpr int unknown_rank = -1;

// An operator that is being translated.
class Site {
public:
    Site(const OperatorRecord& op, std::span<const Tensor> inputs, ValueNotes& notes)
        : op(op), inputs_(inputs), notes_(notes) {}
    const OperatorRecord& op;

    size_t size() const { return inputs_.size(); }
    const Tensor& in(size_t i) const {
        if (i >= inputs_.size())
            invalid("input ", i, " is missing; the operator has ", counted(inputs_.size(), "input"));
        return inputs_[i];
    }
    Tensors from(size_t i) const {
        if (i > inputs_.size())
            invalid("input ", i, " is missing; the operator has ", counted(inputs_.size(), "input"));
        return {inputs_.begin() + ptrdiff_t(i), inputs_.end()};
    }
    // Null when the parameters are of another kind.
    template <class P>
    const P* find_params() const {
        // The union names its members after their tables.
        std::string_view kind = file::EnumNameOperatorParam(op.param_type);
        bool fits = !kind.empty() && std::string_view(P::GetFullyQualifiedName()).ends_with(text('.', kind));
        return fits ? static_cast<const P*>(op.param) : nullptr;
    }
    template <class P>
    const P& params() const {
        if (auto* p = find_params<P>()) return *p;
        invalid("its parameters belong to another operator: ", file::EnumNameOperatorParam(op.param_type));
    }
    // Before a constant is rearranged. A small file could use one large weight a million times.
    void charge(const Tensor& constant) const {
        size_t bytes = constant.spec().bytes();
        if (bytes > notes_.constant_bytes) invalid("its weights are shared, but in different layouts");
        notes_.constant_bytes -= bytes;
    }
    int rank(size_t i) const {
        if (in(i).shape().is_known()) return in(i).shape().rank();
        auto found = notes_.ranks.find(op.inputs[i]);
        return found == notes_.ranks.end() ? unknown_rank : found->second;
    }
    // Throws if it is known only at run time.
    int known_rank(size_t i) const {
        if (rank(i) == unknown_rank) unsupported("an input whose rank is known only at run time");
        return rank(i);
    }

    // The same operator on other values.
    Site on(std::span<const Tensor> inputs) const { return {op, inputs, notes_}; }

    // Null for an input that is not quantised.
    const FileDType* quantisation(size_t i) const {
        in(i);  // exists
        auto found = notes_.quantised.find(op.inputs[i]);
        return found == notes_.quantised.end() ? nullptr : &found->second;
    }
    // Output i will be kept as quantised steps.
    void mark(size_t i, const FileDType& dtype) const {
        if (i < op.outputs.size()) notes_.quantised[op.outputs[i]] = dtype;
    }

private:
    std::span<const Tensor> inputs_;
    ValueNotes& notes_;
};

using ImportFunction = Tensors (*)(const Site&);

struct OperatorRow {
    std::string_view type;
    ImportFunction import;
    // Number of outputs counted in files; a function if that depends on the operator.
    size_t outputs = 1;
    size_t (*count_outputs)(const OperatorRecord&) = nullptr;
};

// The operators that make an input and compare two values; neither is translated.
inline constexpr std::string_view input_type = "Host2DeviceCopy", assert_type = "AssertEqual";

// Null if there is no counterpart.
const OperatorRow* find_operator(std::string_view type);
// The rank of an operator's results; unknown_rank if its inputs are unknown, too.
int rank_of_results(const Site& site);
// 1 for unknown types.
size_t stored_outputs(const OperatorRecord& op);
// Every type name of MegEngine, those without a counterpart included.
std::vector<std::string_view> known_types();

}  // namespace mge::megengine
