// SPDX-License-Identifier: Apache-2.0
#include "apps/dump/input_transform.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <numeric>
#include <vector>

#include "apps/cli/output/fit_numbers.h"
#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/inspect/elements.h"

namespace mge::dump {
namespace {

constexpr const char* option = "--input-transform";
constexpr int deepest = 64;  // nested parentheses

struct Array {
    Shape shape;
    std::vector<double> values;
};

std::vector<int64_t> strides_of(const Shape& shape) {
    std::vector<int64_t> strides(size_t(shape.rank()));
    int64_t stride = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        strides[size_t(axis)] = stride;
        stride *= shape[axis];
    }
    return strides;
}

// Calls fn(place) with the indices of each element of `shape` in row-major order.
template <class Fn>
void for_each_place(const Shape& shape, Fn&& fn) {
    std::vector<int64_t> place(size_t(shape.rank()), 0);
    for (int64_t i = 0, n = shape.numel(); i < n; ++i) {
        fn(place);
        for (int axis = shape.rank() - 1; axis >= 0 && ++place[size_t(axis)] == shape[axis]; --axis)
            place[size_t(axis)] = 0;
    }
}

double element(const Array& x, const std::vector<int64_t>& place) {
    // Broadcasting: axes are aligned at the end, and an extent of 1 repeats.
    size_t skipped = place.size() - size_t(x.shape.rank());
    int64_t at = 0;
    for (int axis = 0; axis < x.shape.rank(); ++axis)
        at = at * x.shape[axis] + (x.shape[axis] == 1 ? 0 : place[skipped + size_t(axis)]);
    return x.values[size_t(at)];
}

Array combined(const Array& a, const Array& b, char operation) {
    Array result{broadcast_shapes(option, a.shape, b.shape), {}};
    result.values.reserve(size_t(checked_numel(option, result.shape)));
    for_each_place(result.shape, [&](auto& place) {
        double x = element(a, place), y = element(b, place);
        result.values.push_back(operation == '+'   ? x + y
                                : operation == '-' ? x - y
                                : operation == '*' ? x * y
                                                   : x / y);
    });
    return result;
}

// Returns the array with the elements of an axis reordered: result[…, i, …] = x[…, order[i], …].
Array reordered(const Array& x, int axis, const std::vector<int64_t>& order) {
    Array result{x.shape, {}};
    result.shape[axis] = int64_t(order.size());
    result.values.reserve(size_t(result.shape.numel()));
    auto strides = strides_of(x.shape);
    for_each_place(result.shape, [&](auto& place) {
        int64_t at = 0;
        for (size_t i = 0; i < place.size(); ++i)
            at += strides[i] * (int(i) == axis ? order[size_t(place[i])] : place[i]);
        result.values.push_back(x.values[size_t(at)]);
    });
    return result;
}

Array transposed(const Array& x, const std::vector<int64_t>& axes) {
    Array result;
    for (int64_t axis : axes) result.shape.push_back(x.shape[int(axis)]);
    result.values.reserve(x.values.size());
    auto strides = strides_of(x.shape);
    for_each_place(result.shape, [&](auto& place) {
        int64_t at = 0;
        for (size_t i = 0; i < place.size(); ++i) at += strides[size_t(axes[i])] * place[i];
        result.values.push_back(x.values[size_t(at)]);
    });
    return result;
}

// Parses and evaluates the expression.
class Expression {
public:
    Expression(const std::string& text, const Array& data) : text_(text), data_(data) {}

    Array value() {
        Array result = sum();
        if (!at_end()) fail("unexpected text after the expression");
        return result;
    }

private:
    template <class... Args>
    [[noreturn]] void fail(const Args&... what) const {
        throw_value_error(option, "'", text_, "', column ", at_ + 1, ": ", what...,
                          "; allowed are data, numbers, + - * /, parentheses, np.array([1, 2, 3]), "
                          ".transpose(axes), .reshape(extents), [:, ::-1] and [..., [2, 1, 0]]. For "
                          "anything else let numpy write an .npy file");
    }

    // Tokens.
    void skip_blanks() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    }
    bool at_end() {
        skip_blanks();
        return at_ == text_.size();
    }
    bool accept(std::string_view sign) {
        skip_blanks();
        if (std::string_view(text_).substr(at_, sign.size()) != sign) return false;
        at_ += sign.size();
        return true;
    }
    void expect(std::string_view sign) {
        if (!accept(sign)) fail("expected '", sign, "'");
    }
    std::string word() {
        skip_blanks();
        size_t begin = at_;
        auto belongs = [](char c) { return std::isalnum(uint8_t(c)) || c == '_'; };
        while (at_ < text_.size() && belongs(text_[at_])) ++at_;
        return text_.substr(begin, at_ - begin);
    }
    double number() {
        double value = 0;
        auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
        if (error != std::errc()) fail("expected a number");
        at_ = size_t(end - text_.data());
        return value;
    }
    double signed_number() {
        bool is_negative = accept("-");
        skip_blanks();
        return is_negative ? -number() : number();
    }
    std::vector<double> numbers(std::string_view end) {
        std::vector<double> result;
        while (!accept(end)) {
            result.push_back(signed_number());
            if (!accept(",")) {
                expect(end);
                break;
            }
        }
        return result;
    }
    std::vector<int64_t> integers(std::string_view end) {
        std::vector<int64_t> result;
        for (double value : numbers(end)) {
            if (value != std::floor(value) || std::abs(value) > 1e15) fail(value, " is not an integer");
            result.push_back(int64_t(value));
        }
        return result;
    }
    // Parses (1, 2) or ((1, 2)) after the first parenthesis.
    std::vector<int64_t> tuple() {
        if (!accept("(") && !accept("[")) return integers(")");
        auto result = integers(text_[at_ - 1] == '(' ? ")" : "]");
        expect(")");
        return result;
    }

    // The grammar, lowest precedence first.
    Array sum() {
        Array result = product();
        for (;;) {
            if (accept("+"))
                result = combined(result, product(), '+');
            else if (accept("-"))
                result = combined(result, product(), '-');
            else
                return result;
        }
    }
    Array product() {
        Array result = signed_value();
        for (;;) {
            if (accept("*"))
                result = combined(result, signed_value(), '*');
            else if (accept("/"))
                result = combined(result, signed_value(), '/');
            else
                return result;
        }
    }
    Array signed_value() {
        bool is_negative = false;
        for (bool minus; (minus = accept("-")) || accept("+");) is_negative ^= minus;
        Array result = plain_value();
        for (;;) {
            if (accept("."))
                result = method(std::move(result));
            else if (accept("["))
                result = indexed(std::move(result));
            else
                break;
        }
        return is_negative ? combined({{}, {0.0}}, result, '-') : result;
    }
    Array plain_value() {
        if (accept("(")) return in_parentheses();
        skip_blanks();
        bool is_digit = at_ < text_.size() && (std::isdigit(uint8_t(text_[at_])) || text_[at_] == '.');
        if (is_digit) return {{}, {number()}};
        size_t begin = at_;
        std::string name = word();
        if (name == "data") return data_;
        if ((name == "np" || name == "numpy") && accept(".")) return numpy_function();
        at_ = begin;
        if (name.empty()) fail("expected a value");
        fail("'", name, "' is not known");
    }
    Array in_parentheses() {
        if (++depth_ > deepest) fail("the parentheses are nested too deeply");
        Array result = sum();
        --depth_;
        expect(")");
        return result;
    }
    Array numpy_function() {
        size_t begin = at_;
        std::string name = word();
        if (name == "float32" || name == "float64") {
            expect("(");
            return in_parentheses();
        }
        if (name != "array" && name != "asarray") {
            at_ = begin;
            fail("numpy's '", name, "' is not known");
        }
        expect("(");
        expect("[");
        Array result{{0}, numbers("]")};
        result.shape[0] = int64_t(result.values.size());
        expect(")");
        return result;
    }

    Array method(Array x) {
        size_t begin = at_;
        std::string name = word();
        if (name == "astype") return as_real(std::move(x));
        if (name != "transpose" && name != "reshape") {
            at_ = begin;
            fail("the method '", name, "' is not known");
        }
        expect("(");
        return name == "transpose" ? transpose(x, tuple()) : reshape(std::move(x), tuple());
    }
    Array as_real(Array x) {
        expect("(");
        if (accept("np") || accept("numpy")) expect(".");
        bool is_quoted = accept("'") || accept("\"");
        std::string name = word();
        if (name != "float32" && name != "float64") fail("astype can only convert to float32 or float64");
        if (is_quoted && !accept("'")) expect("\"");
        expect(")");
        return x;
    }
    Array transpose(const Array& x, std::vector<int64_t> axes) const {
        std::vector<int64_t> all(size_t(x.shape.rank()));
        std::iota(all.begin(), all.end(), 0);
        if (axes.empty()) axes.assign(all.rbegin(), all.rend());
        for (auto& axis : axes)
            if (axis < 0) axis += x.shape.rank();
        if (!std::is_permutation(axes.begin(), axes.end(), all.begin(), all.end()))
            fail("the axes of an array of shape ", x.shape, " are 0 to ", x.shape.rank() - 1, ", each once");
        return transposed(x, axes);
    }
    Array reshape(Array x, std::vector<int64_t> extents) const {
        auto count = int64_t(x.values.size());
        int64_t known = 1;
        auto open = std::find(extents.begin(), extents.end(), -1);
        for (auto extent = extents.begin(); extent != extents.end(); ++extent)
            if (extent != open) known *= *extent < 0 || *extent > count ? 0 : *extent;
        if (open != extents.end() && known > 0) *open = count / known;
        if (extents.size() > size_t(max_rank) ||
            (open == extents.end() ? known : known * std::max<int64_t>(*open, 0)) != count)
            fail("that shape does not hold ", counted(count, "element"));
        x.shape = Shape(extents);
        return x;
    }

    // Parses an index after "[".
    Array indexed(Array x) {
        int axis = 0;
        for (bool is_first = true; !accept("]"); is_first = false) {
            if (!is_first) {
                expect(",");
                if (accept("]")) break;
            }
            if (accept("...")) {
                axis = x.shape.rank() - trailing_axes();
                continue;
            }
            if (axis < 0 || axis >= x.shape.rank()) fail("the array has the shape ", x.shape);
            if (accept("["))
                x = reordered(x, axis, positions(integers("]"), x.shape[axis]));
            else if (accept("::-1"))
                x = reordered(x, axis, backwards(x.shape[axis]));
            else if (!accept("::"))
                expect(":");
            ++axis;
        }
        return x;
    }
    // Returns the number of axes in the rest of an index.
    int trailing_axes() const {
        int depth = 0, count = 0;
        for (size_t i = at_; i < text_.size() && (depth > 0 || text_[i] != ']'); ++i) {
            depth += text_[i] == '[';
            depth -= text_[i] == ']';
            count += depth == 0 && text_[i] == ',';
        }
        return count;
    }
    std::vector<int64_t> positions(std::vector<int64_t> order, int64_t extent) const {
        for (auto& position : order) {
            if (position < -extent || position >= extent)
                fail("position ", position, " of ", extent, " does not exist");
            if (position < 0) position += extent;
        }
        return order;
    }
    static std::vector<int64_t> backwards(int64_t extent) {
        std::vector<int64_t> order(static_cast<size_t>(extent));
        std::iota(order.rbegin(), order.rend(), 0);
        return order;
    }

    const std::string& text_;
    const Array& data_;
    size_t at_ = 0;
    int depth_ = 0;
};

}  // namespace

Tensor transformed(const Tensor& data, const std::string& expression, DType dtype) {
    Array array{data.shape(), {}};
    array.values.reserve(size_t(data.spec().numel()));
    for_each_element(data, [&](int64_t, double value) { array.values.push_back(value); });
    Array result = Expression(expression, array).value();
    Tensor tensor = empty_tensor({dtype, result.shape, {}}, host_device);
    cli::fit_numbers(
        tensor, [&](int64_t i) { return result.values[size_t(i)]; }, option);
    return tensor;
}

}  // namespace mge::dump
