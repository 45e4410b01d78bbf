// SPDX-License-Identifier: Apache-2.0
#pragma once
// Texts are i64 numbers in a graph: each text in a file has one, from 0 in order of occurrence. Equal texts
// have equal numbers, so moving, comparing and looking up texts can be computed, but making new texts cannot.
// Callers of a model may assign further numbers to texts that are not in the file.

#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/model/import/onnx/wire/record.h"

namespace mge::onnx {

// The information needed to read the numbers: the texts in order, and the inputs and outputs of the model
// that are texts.
struct TextTable {
    std::deque<std::string> texts;
    std::vector<std::string> values;
};

class Texts {
public:
    int64_t number_of(const std::string& text);
    IntList numbers_of(const std::vector<std::string>& texts);
    Tensor tensor_of(const file::TensorProto& tensor);
    const std::deque<std::string>& all() const { return texts_; }

    // The numbers of a value represent texts.
    bool has(const Tensor& t) const { return t && marked_.contains(t.impl()); }
    const Tensor& mark(const Tensor& t);

private:
    std::deque<std::string> texts_;
    std::map<std::string_view, int64_t> numbers_;  // numbers of the texts
    // Keeps the values alive, so that their addresses stay unique.
    std::map<const TensorImpl*, Tensor> marked_;
};

// Whether the results of an operator with these operands are texts that it moves. Throws Unsupported or
// UserError for one that does not take them.
bool are_texts_moved(const Texts& texts, std::string_view op, std::span<const Tensor> inputs);

}  // namespace mge::onnx
