// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/operators/learned/texts.h"

#include <algorithm>
#include <iterator>

#include "libmge/base/utf8.h"
#include "libmge/model/import/onnx/operators.h"
#include "libmge/model/import/onnx/wire/weights.h"

namespace mge::onnx {
namespace {

// Which operands may be texts, and whether the results are, too. `chosen`: both of a choice, behind its
// condition.
struct TextUse {
    std::string_view op;
    enum Operands : uint8_t { first, all, chosen } operands;
    bool moves = true;
};
// All other operators only accept numbers. Operators without data movement return numbers, or mark their
// results themselves.
constexpr TextUse uses[] = {
    {"ArrayFeatureExtractor", TextUse::first},
    {"Cast", TextUse::first, false},
    {"Compress", TextUse::first},
    {"Concat", TextUse::all},
    {"Equal", TextUse::all, false},
    {"Expand", TextUse::first},
    {"Flatten", TextUse::first},
    {"Gather", TextUse::first},
    {"GatherElements", TextUse::first},
    {"GatherND", TextUse::first},
    {"Identity", TextUse::first},
    {"LabelEncoder", TextUse::first, false},
    {"OneHotEncoder", TextUse::first, false},
    {"Reshape", TextUse::first},
    {"Shape", TextUse::first, false},
    {"Size", TextUse::first, false},
    {"Slice", TextUse::first},
    {"Split", TextUse::first},
    {"Squeeze", TextUse::first},
    {"TfIdfVectorizer", TextUse::first, false},
    {"Tile", TextUse::first},
    {"Transpose", TextUse::first},
    {"Unsqueeze", TextUse::first},
    {"Where", TextUse::chosen},
};

}  // namespace

int64_t Texts::number_of(const std::string& text) {
    if (!is_utf8(text)) unsupported("text that is not UTF-8");
    if (auto found = numbers_.find(text); found != numbers_.end()) return found->second;
    auto number = int64_t(texts_.size());
    numbers_.emplace(texts_.emplace_back(text), number);
    return number;
}

IntList Texts::numbers_of(const std::vector<std::string>& texts) {
    IntList numbers;
    for (auto& text : texts) numbers.push_back(number_of(text));
    return numbers;
}

Tensor Texts::tensor_of(const file::TensorProto& tensor) {
    if (tensor.data_type() != file::TensorProto::STRING) invalid("its value must be text");
    file::TensorProto numbers;
    numbers.set_data_type(file::TensorProto::INT64);
    *numbers.mutable_dims() = tensor.dims();
    for (auto& text : tensor.string_data()) numbers.add_int64_data(number_of(text));
    ExternalFiles none("");
    return mark(onnx::tensor_of(numbers, none));
}

const Tensor& Texts::mark(const Tensor& t) {
    if (t) marked_.emplace(t.impl(), t);
    return t;
}

bool are_texts_moved(const Texts& texts, std::string_view op, std::span<const Tensor> inputs) {
    auto is_text = [&](const Tensor& t) { return texts.has(t); };
    if (std::ranges::none_of(inputs, is_text)) return false;
    auto use = std::ranges::find(uses, op, &TextUse::op);
    if (use == std::end(uses)) unsupported("text as an input");
    size_t begin = use->operands == TextUse::chosen ? 1 : 0;
    size_t end = use->operands == TextUse::first ? 1 : inputs.size();
    for (size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i] && is_text(inputs[i]) != (i >= begin && i < end))
            invalid(is_text(inputs[i]) ? "a number is expected, not text, as input "
                                       : "text is expected, not a number, as input ",
                    i);
    return use->moves;
}

}  // namespace mge::onnx
