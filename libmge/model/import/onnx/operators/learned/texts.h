// SPDX-License-Identifier: Apache-2.0
#pragma once
// Texts are i64 numbers in a graph: each text that a file holds has one, from 0 on in the order in which they
// are met. Equal texts are equal numbers, so what moves, compares and looks up texts can be computed; what
// makes texts of others cannot. Who calls a model may give further numbers to texts that the file does not
// hold.

#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/model/import/onnx/wire/record.h"

namespace mge::onnx {

// What somebody needs to read the numbers: the texts in their order, and the inputs and outputs of the model
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

    // The numbers of a value are those of texts.
    bool has(const Tensor& t) const { return t && marked_.contains(t.impl()); }
    const Tensor& mark(const Tensor& t);

private:
    std::deque<std::string> texts_;
    std::map<std::string_view, int64_t> numbers_;  // of texts there
    // Keeps the values alive, so that addresses stay theirs.
    std::map<const TensorImpl*, Tensor> marked_;
};

// Whether the results of an operator with these operands are texts that it moves. Throws Unsupported or
// UserError for one that does not take them.
bool are_texts_moved(const Texts& texts, std::string_view op, std::span<const Tensor> inputs);

}  // namespace mge::onnx
