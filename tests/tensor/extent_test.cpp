// SPDX-License-Identifier: Apache-2.0
#include "libmge/tensor/extent.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "libmge/base/text.h"

namespace mge::test {
namespace {

constexpr ExtentBounds at_least_1{1};

Extent sym(std::string_view name, int64_t lower = 1) { return Extent::symbol(name, {lower}); }

TEST(Extent, NormalFormsAreEqual) {
    Extent s = sym("s"), t = sym("t");
    EXPECT_TRUE((s + t).is(t + s));
    EXPECT_TRUE(((s + 1) * (s - 1)).is(s * s - 1));
    EXPECT_TRUE((s - s).is(0));
    EXPECT_TRUE((s * 0).is(0));
    EXPECT_FALSE(s.is(Extent::symbol("s", {2})));
    EXPECT_TRUE(floor_div(4 * s + 6, 2).is(2 * s + 3));
    EXPECT_TRUE(floor_div(s - 3, 2).is(floor_div(s - 1, 2) - 1));
    EXPECT_TRUE(floor_div(floor_div(s, 2) + 3, 2).is(floor_div(s + 6, 4)));
    EXPECT_TRUE(floor_div(s * t + s, s).is(t + 1));
    EXPECT_TRUE(((2 * s) % 2).is(0));
    EXPECT_TRUE((s + 5 - s).is_number());
    EXPECT_TRUE(max_of(s, t).is(max_of(t, s)));
    EXPECT_TRUE(max_of(s, s + t).is(s + t));
    EXPECT_TRUE(max_of(max_of(s, t), s).is(max_of(s, t)));
    EXPECT_TRUE(min_of(s + 1, s).is(s));
}

TEST(Extent, BoundsDecideComparisons) {
    Extent s = sym("s"), t = sym("t"), small = Extent::symbol("small", {2, 5});
    EXPECT_TRUE(s * t >= s);
    EXPECT_TRUE(s + t > 1);
    EXPECT_FALSE(s == 0);
    EXPECT_FALSE(2 * s == 2 * t + 1);
    EXPECT_TRUE(small < 6);
    EXPECT_FALSE(small == 7);
    EXPECT_TRUE(s >= floor_div(s - 1, 2) + 1);
    EXPECT_TRUE(s % 4 < 4);
    EXPECT_TRUE(s % 4 >= 0);
    EXPECT_TRUE(max_of(s, t) >= s);
    EXPECT_TRUE(min_of(s, t) <= t);
    EXPECT_TRUE(min_of(s, t) >= 1);
    EXPECT_THROW(void(s == t), Undecidable);
    EXPECT_THROW(void(s >= 2), Undecidable);
    EXPECT_THROW(void(s.number()), Undecidable);
    EXPECT_EQ(small.upper(), 5);
    EXPECT_EQ((10 - small).lower(), 5);
    EXPECT_EQ(s.upper(), ExtentBounds::unbounded);
}

TEST(Extent, RefusesUnrepresentableValues) {
    Extent large = int64_t(1) << 62;
    EXPECT_THROW(large * 4, UserError);
    EXPECT_THROW(sym("s") * large * 4, UserError);
    EXPECT_THROW(floor_div(sym("s"), 0), UserError);
    EXPECT_THROW(floor_div(7, sym("s", 0)), Undecidable);
    EXPECT_EQ(exact_quotient(7, 2), std::nullopt);
    EXPECT_EQ(exact_quotient(sym("s"), 0), std::nullopt);
}

TEST(Extent, PrintsAndReadsText) {
    Extent s = sym("s"), h = sym("h");
    EXPECT_EQ(text(2 * s + 1), "2*s + 1");
    EXPECT_EQ(text(floor_div(h + 1, 2) - 1), "floordiv(h + 1, 2) - 1");
    EXPECT_EQ(text(s * s * h - s), "h*s**2 - s");
    EXPECT_EQ(text(-s), "-s");
    EXPECT_EQ(text(max_of(h, s)), "max(h, s)");
    struct Case {
        const char* given;
        Extent expected;
    };
    const Case cases[] = {{"2*s+1", 2 * s + 1},
                          {" s + h ", s + h},
                          {"17", 17},
                          {"-(s - 3)*2", 6 - 2 * s},
                          {"h//2", floor_div(h, 2)},
                          {"floordiv(h - 3, 2) + 1", floor_div(h - 3, 2) + 1},
                          {"s**2 + s^2", 2 * s * s},
                          {"Mod(s, 8)", s % 8},
                          {"s % 8", s % 8},
                          {"Max(1, s)", s},
                          {"min(h, s)", min_of(s, h)}};
    for (auto& [given, expected] : cases) {
        auto read = parse_extent(given, at_least_1);
        ASSERT_TRUE(read) << given;
        EXPECT_TRUE(read->is(expected)) << given << " gave " << *read;
    }
    for (auto bad : {"", "batch size", "2*", "s)", "(s", "foo(s, 2)", "floordiv(s)", "1/2", "s//0", "2**99",
                     "9999999999999999999", "s $ 2"})
        EXPECT_FALSE(parse_extent(bad)) << bad;
    EXPECT_FALSE(parse_extent(std::string(100000, '(')));
}

TEST(Extent, SolvesLinearForms) {
    Extent s = sym("s");
    auto solved = solve(2 * s + 1, 257);
    ASSERT_TRUE(solved);
    EXPECT_EQ(solved->name, "s");
    EXPECT_EQ(solved->value, 128);
    EXPECT_FALSE(solve(2 * s + 1, 256));  // no integer
    EXPECT_FALSE(solve(s + 5, 5));        // below the bounds
    EXPECT_FALSE(solve(s + sym("t"), 5));
    EXPECT_FALSE(solve(s * s, 4));
    EXPECT_FALSE(solve(4, 4));
}

TEST(Extent, SubstitutesAndEvaluates) {
    Extent s = sym("s"), t = sym("t");
    Extent form = floor_div(s * t + 3, 4) + max_of(s, t);
    EXPECT_EQ(evaluate(form, {{"s", 5}, {"t", 2}}), 8);
    EXPECT_THROW(evaluate(form, {{"s", 5}}), UserError);
    EXPECT_EQ(symbols_of(form), (std::vector<std::string>{"s", "t"}));
    Extent partly = substitute(
        form, [](std::string_view name) { return name == "s" ? std::optional<Extent>(4) : std::nullopt; });
    EXPECT_TRUE(partly.is(t + max_of(4, t)));
}

TEST(Extent, GuardsCollectOpenClaims) {
    Extent s = sym("s"), t = sym("t");
    EXPECT_THROW(can_be_equal("matmul", s, t), Undecidable);
    EXPECT_FALSE(can_be_equal("matmul", s, 0));
    GuardScope scope;
    EXPECT_TRUE(can_be_equal("matmul", s, 2 * t));
    EXPECT_TRUE(can_be_equal("matmul", s, 2 * t));
    EXPECT_TRUE(can_be_at_least("conv2d", s, 3));
    ASSERT_EQ(scope.guards().size(), 2);
    EXPECT_EQ(text(scope.guards()[0]), "matmul: s == 2*t");
    EXPECT_EQ(text(scope.guards()[1]), "conv2d: s >= 3");
    EXPECT_TRUE(holds(scope.guards()[0], {{"s", 4}, {"t", 2}}));
    EXPECT_FALSE(holds(scope.guards()[0], {{"s", 4}, {"t", 3}}));
    EXPECT_FALSE(holds(scope.guards()[1], {{"s", 2}}));
}

TEST(Extent, Broadcasts) {
    Extent s = sym("s"), t = sym("t"), wide = Extent::symbol("wide", {2});
    GuardScope scope;
    EXPECT_TRUE(broadcast_extents("add", s, s)->is(s));
    EXPECT_TRUE(broadcast_extents("add", s, 1)->is(s));
    EXPECT_TRUE(broadcast_extents("add", s - 1, 1)->is(s - 1));
    EXPECT_TRUE(scope.guards().empty());
    EXPECT_TRUE(broadcast_extents("add", s, 8)->is(8));
    EXPECT_TRUE(broadcast_extents("add", s, t)->is(max_of(s, t)));
    EXPECT_TRUE(broadcast_extents("add", wide, s)->is(wide));
    EXPECT_TRUE(broadcast_extents("add", wide, 8)->is(8));
    EXPECT_EQ(broadcast_extents("add", 3 * wide + 5, 8), std::nullopt);
    EXPECT_EQ(broadcast_extents("add", 3, 8), std::nullopt);
    EXPECT_EQ(scope.guards().size(), 4);
    // Either may be 0 or 1: the other one is the result, which no form says.
    EXPECT_EQ(text(*broadcast_extents("add", s - 1, t)), "?broadcast(s - 1, t)");
    EXPECT_EQ(scope.guards().size(), 5);
}

// A random form together with its value at given values of the symbols.
class RandomForm {
public:
    explicit RandomForm(uint32_t seed) : random_(seed) {
        for (auto name : {"a", "b", "c"}) values_[name] = 1 + int64_t(random_() % 20);
    }
    const ExtentValues& values() const { return values_; }

    struct Valued {
        Extent form;
        int64_t value;
    };
    Valued make(int depth) {
        if (depth == 0 || random_() % 6 == 0) return leaf();
        Valued x = make(depth - 1), y = make(depth - 1);
        int64_t divisor = 1 + int64_t(random_() % 7);
        auto floored = [](int64_t n, int64_t d) { return n / d - (n % d < 0); };
        switch (random_() % 7) {
            case 0:
                return {x.form + y.form, x.value + y.value};
            case 1:
                return {x.form - y.form, x.value - y.value};
            case 2:
                return {x.form * y.form, x.value * y.value};
            case 3:
                return {floor_div(x.form, divisor), floored(x.value, divisor)};
            case 4:
                return {x.form % divisor, x.value - divisor * floored(x.value, divisor)};
            case 5:
                return {min_of(x.form, y.form), std::min(x.value, y.value)};
            default:
                return {max_of(x.form, y.form), std::max(x.value, y.value)};
        }
    }

private:
    Valued leaf() {
        if (random_() % 3 == 0) {
            int64_t number = int64_t(random_() % 9) - 3;
            return {number, number};
        }
        auto at = std::next(values_.begin(), ptrdiff_t(random_() % values_.size()));
        return {sym(at->first), at->second};
    }

    std::mt19937 random_;
    ExtentValues values_;
};

TEST(Extent, EvaluationCommutesWithArithmetic) {
    for (uint32_t seed = 0; seed < 1000; ++seed) {
        RandomForm random(seed);
        auto [form, value] = random.make(3);
        ASSERT_EQ(evaluate(form, random.values()), value) << "seed " << seed << ": " << form;
        EXPECT_LE(form.lower(), value) << "seed " << seed << ": " << form;
        EXPECT_GE(form.upper(), value) << "seed " << seed << ": " << form;
        auto read = parse_extent(text(form), at_least_1);
        ASSERT_TRUE(read) << "seed " << seed << ": " << form;
        EXPECT_TRUE(read->is(form)) << "seed " << seed << ": " << form << " was read as " << *read;
        auto other = random.make(2);
        if (auto answer = is_equal(form, other.form)) {
            EXPECT_EQ(*answer, value == other.value) << form << " ? " << other.form;
        }
        if (auto answer = is_at_least(form, other.form)) {
            EXPECT_EQ(*answer, value >= other.value) << form << " ? " << other.form;
        }
        if (!other.form.is(0)) {
            auto quotient = exact_quotient(form * other.form, other.form);
            ASSERT_TRUE(quotient) << "seed " << seed << ": " << form << ", " << other.form;
            EXPECT_TRUE(quotient->is(form)) << "seed " << seed << ": " << form << ", " << other.form;
        }
    }
}

// Names in model files are read as forms, and a short one must not take minutes.
TEST(Extent, LongFormsAreNoForms) {
    for (auto* large : {"((((s**8)**8)**8)**8)**8", "(a+b+c+d+e+f+g+h)**8", "(s**8)**8*s**8*s"})
        EXPECT_FALSE(parse_extent(large)) << large;
    std::string sum = "s0";
    for (int i = 1; i < 5000; ++i) sum += text(" + s", i);
    EXPECT_FALSE(parse_extent(sum));
    EXPECT_TRUE(parse_extent("(s**8)**8"));
}

TEST(Extent, BoundsOfLongFormsAreFoundSoon) {
    std::string sum = "min(a0, b0)", product = "a0";
    for (int i = 1; i < 30; ++i) {
        sum += text(" + min(a", i, ", b", i, ')');
        product += text(" * a", i);
    }
    EXPECT_EQ(parse_extent(sum, at_least_1)->lower(), 30);
    EXPECT_EQ(parse_extent(text("max(1, ", sum, ")"), at_least_1)->lower(), 30);
    EXPECT_LE(parse_extent(product, at_least_1)->lower(), 1);
}

TEST(Extent, ChildrenOfForkMakeThemWhileOthersDo) {
    Extent::symbol("n");  // the first one registers the handlers of fork()
    std::atomic<bool> is_done = false;
    std::jthread maker([&] {
        for (int64_t i = 0; !is_done; i = (i + 1) % 100) static_cast<void>(Extent::symbol("n") + i);
    });
    int failed = 0;
    for (int i = 0; i < 100 && !failed; ++i) {
        pid_t child = ::fork();
        if (child == 0) {
            ::alarm(20);  // seconds, instead of a wait without end
            ::_exit((Extent::symbol("n") + 1).is_number());
        }
        ::waitpid(child, &failed, 0);
    }
    is_done = true;
    EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace mge::test
