// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/problem_words.h"

#include <bit>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "libmge/base/numbers/ceil_div.h"

namespace mge {
namespace {

constexpr size_t usual_words = 96;

// Lists of variable length begin with their length, so that different lists give different words.
class Writer {
public:
    Writer() { words_.reserve(usual_words); }

    template <class T>
    requires std::is_integral_v<T>
    void add(T number) { words_.push_back(uint64_t(number)); }
    void add(double number) { words_.push_back(std::bit_cast<uint64_t>(number)); }
    void add(std::string_view text) {
        add(text.size());
        size_t at = words_.size(), size = sizeof(uint64_t);
        words_.resize(at + ceil_div(text.size(), size));
        if (!text.empty()) std::memcpy(words_.data() + at, text.data(), text.size());
    }
    template <class T>
    void add(const std::vector<T>& list) {
        add(list.size());
        for (T element : list) add(element);
    }
    void add(const SubgraphRef& graph) { add(graph ? graph.hash() : 0); }
    void add_params(FieldList fields, const void* params) {
        for (auto& field : fields) {
            ParamValue value = field.get(params);
            add(value.index());
            std::visit([&](auto& v) { add(v); }, value);
        }
    }
    void add_specs(Specs specs) {
        add(specs.size());
        for (auto& spec : specs) {
            add(uint64_t(uint8_t(spec.dtype)) << 16 | uint64_t(uint8_t(spec.shape.rank())) << 8 |
                uint64_t(spec.layout.size()));
            for (int64_t extent : spec.shape.dims()) add(extent);
            for (int i = 0; i < spec.layout.size(); ++i)
                add(uint64_t(spec.layout[i].axis) << 8 | spec.layout[i].block);
        }
    }
    ProblemWords take() { return std::move(words_); }

private:
    ProblemWords words_;
};

}  // namespace

ProblemWords problem_words(const Problem& problem) {
    Writer words;
    words.add(problem.op);
    words.add_params(problem.fields, problem.params);
    words.add_specs(problem.inputs);
    words.add_specs(problem.outputs);
    words.add(problem.constant_inputs);
    words.add(uint64_t(uint32_t(problem.threads)) << 8 | uint64_t(problem.precision));
    words.add(problem.device.hash() << 32 | problem.output_device.hash());
    return words.take();
}

}  // namespace mge
