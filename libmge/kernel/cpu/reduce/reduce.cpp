// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/reduce/reduce.h"

#include <algorithm>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/reduce/reduce_meaning.h"
#include "libmge/kernel/cpu/rows/half.h"

namespace mge::cpu {
namespace {

constexpr int64_t run_length = longest_read;  // length of a run reduced in one go: a few hundred per f32 lane
constexpr int64_t piece_length = 8192;        // elements or rows of one piece of a long folding
constexpr int64_t least_piece = 256;          // rows of one
constexpr int64_t many_units = 64;            // enough work for many threads without more pieces
constexpr int64_t rows_in_f32 = 64;           // rows that are added in f32 before they go to the f64 totals
constexpr int64_t tile = 2048;    // columns folded at once: whole pages are read, totals stay near
constexpr int64_t grain = 32768;  // elements per thread that are worth a second one

template <class A, class T>
void convert_values(const void* from, A* values, int64_t n) {
    auto* x = static_cast<const T*>(from);
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        halves_to_floats(x, values, n);
    else
        for (int64_t i = 0; i < n; ++i) values[i] = A(x[i]);
}

// Elements of any type as values of the partial type: the loops know the latter alone.
template <class A>
class Elements {
public:
    template <class T>
    static Elements of(const ElementReader& reader) {
        return {reader, sizeof(T), std::is_same_v<A, T> ? nullptr : convert_values<A, T>};
    }

    const std::byte* read(int part, int64_t begin, int64_t n) const {
        return static_cast<const std::byte*>(reader_.read(reader_.source, part, begin, n));
    }
    const std::byte* behind(const std::byte* x, int64_t n) const { return x + n * size_; }
    int64_t cost() const { return reader_.cost; }

    // The result of read() if it has the partial type already; otherwise null.
    const A* as_values(const std::byte* x) const {
        return convert_ ? nullptr : reinterpret_cast<const A*>(x);
    }
    // Else: hands the n elements at x to fn(values, count, at) in pieces.
    template <class Fn>
    void in_converted(const std::byte* x, int64_t n, Fn fn) const {
        constexpr int64_t buffer_length = 1024;
        alignas(64) A buffer[buffer_length];
        for (int64_t i = 0; i < n; i += buffer_length) {
            int64_t count = std::min(buffer_length, n - i);
            convert_(behind(x, i), buffer, count);
            fn(static_cast<const A*>(buffer), count, i);
        }
    }

private:
    using Convert = void (*)(const void* x, A* values, int64_t n);
    Elements(const ElementReader& reader, int64_t size, Convert convert)
        : reader_(reader), size_(size), convert_(convert) {}

    const ElementReader& reader_;
    int64_t size_;     // bytes of an element
    Convert convert_;  // null if no conversion is needed
};

// All that depends on the reduction, made apart from the loops that are the same for each: those are compiled
// once per type of partial results, joined as J.
template <class A, class J>
struct Bricks {
    // totals[i] = totals[i] ∘ all of run i: contiguous runs of n > 0
    void (*add_runs)(J* totals, const A* x, int64_t runs, int64_t n);
    // total[i] = total[i] ∘ x[0][i] ∘ x[1][i] …: contiguous rows of n
    void (*accumulate)(A* total, const A* x, int64_t rows, int64_t n);
    void (*join)(J* totals, const A* partial, int64_t n);
    A nothing;  // neutral element
    J nothing_joined;
};

template <Reduction kind, class A>
constexpr bool has_vectors = std::is_same_v<A, float> ||
                             (is_vector_integer<A> && (kind == Reduction::max || kind == Reduction::min));
template <Reduction kind, class A>
ReduceVectors<A> vectors_of() {
    if constexpr (std::is_same_v<A, float>)
        return reduce_f32(kind);
    else
        return reduce_integers<A>(kind);
}

template <Reduction kind, class A>
A reduce_values(const A* x, int64_t n) {
    if constexpr (has_vectors<kind, A>) {
        static const auto run = vectors_of<kind, A>().run;
        return run(x, n);
    }
    A total = x[0];
    for (int64_t i = 1; i < n; ++i) total = combine<kind>(total, x[i]);
    return total;
}
template <Reduction kind, class A, class J>
void add_runs(J* totals, const A* x, int64_t runs, int64_t n) {
    for (int64_t i = 0; i < runs; ++i)
        totals[i] = combine<kind>(totals[i], J(reduce_values<kind>(x + i * n, n)));
}
template <Reduction kind, class A>
void accumulate_values(A* __restrict total, const A* __restrict x, int64_t rows, int64_t n) {
    for (int64_t row = 0; row < rows; ++row)
        for (int64_t i = 0; i < n; ++i) total[i] = combine<kind>(total[i], x[row * n + i]);
}
template <Reduction kind, class A, class J>
void join_values(J* __restrict totals, const A* __restrict partial, int64_t n) {
    for (int64_t i = 0; i < n; ++i) totals[i] = combine<kind>(totals[i], J(partial[i]));
}

template <Reduction kind, class A, class J>
Bricks<A, J> bricks() {
    auto accumulate = accumulate_values<kind, A>;
    if constexpr (has_vectors<kind, A>) accumulate = vectors_of<kind, A>().accumulate;
    return {add_runs<kind, A, J>, accumulate, join_values<kind, A, J>, identity<kind, A>(),
            identity<kind, J>()};
}

// Adds a run of at most run_length elements to the total.
template <class A, class J>
void reduce_run(const Elements<A>& elements, const Bricks<A, J>& bricks, const std::byte* x, int64_t n,
                J& total) {
    if (n == 0) return;
    auto add = [&](const A* values, int64_t count, int64_t) { bricks.add_runs(&total, values, 1, count); };
    if (auto* values = elements.as_values(x)) return add(values, n, 0);
    elements.in_converted(x, n, add);
}

// `rows` rows of n elements, one behind the other, onto a row of totals.
template <class A, class J>
void accumulate_rows(const Elements<A>& elements, const Bricks<A, J>& bricks, A* total, const std::byte* x,
                     int64_t rows, int64_t n) {
    if (auto* values = elements.as_values(x)) return bricks.accumulate(total, values, rows, n);
    for (int64_t row = 0; row < rows; ++row)
        elements.in_converted(elements.behind(x, row * n), n, [&](const A* v, int64_t columns, int64_t at) {
            bricks.accumulate(total + at, v, 1, columns);
        });
}

// Rows of columns, `inner` elements from one to the next: read before, or to be read.
struct Rows {
    const std::byte* x = nullptr;
    int part = 0;
    int64_t from = 0, inner = 0;

    template <class A>
    const std::byte* read(const Elements<A>& elements, int64_t row, int64_t rows, int64_t columns) const {
        if (x) return elements.behind(x, row * inner);
        return elements.read(part, from + row * inner, rows * columns);
    }
};

// `rows` rows of `n` columns into one row, up to `batch` at once.
template <class A, class J, class Y>
void reduce_tile(const Elements<A>& elements, const Bricks<A, J>& bricks, const Rows& x, int64_t rows,
                 int64_t n, int64_t batch, Y* y) {
    alignas(64) J totals[tile];
    alignas(64) A partial[tile];
    std::fill_n(totals, n, bricks.nothing_joined);
    for (int64_t begin = 0; begin < rows; begin += rows_in_f32) {
        A* target = partial;
        if constexpr (std::is_same_v<A, J>)
            target = totals;
        else
            std::fill_n(partial, n, bricks.nothing);
        int64_t end = std::min(rows, begin + rows_in_f32);
        for (int64_t row = begin; row < end; row += batch) {
            int64_t count = std::min(batch, end - row);
            accumulate_rows(elements, bricks, target, x.read(elements, row, count, n), count, n);
        }
        if constexpr (!std::is_same_v<A, J>) bricks.join(totals, partial, n);
    }
    for (int64_t i = 0; i < n; ++i) y[i] = Y(totals[i]);
}

// Rows of one piece. With few rows of results, pieces are shorter, so that several threads have work for any
// number of columns.
int64_t piece_rows(const ReducePass& pass) {
    int64_t columns = std::max<int64_t>(1, std::min(pass.inner, tile));
    bool are_many = pass.outer * ceil_div(pass.inner, tile) >= many_units;
    return are_many ? piece_length : std::max(least_piece, piece_length / columns);
}
int64_t pieces_of(const ReducePass& pass) {
    return std::max<int64_t>(1, (pass.length + piece_rows(pass) - 1) / piece_rows(pass));
}

// One pass into y, divided into pieces, each of a tile of columns: the units of work.
template <class A, class J, class Y>
class Units {
public:
    Units(const Elements<A>& elements, const Bricks<A, J>& bricks, const ReducePass& pass, int64_t pieces,
          Y* y)
        : elements_(elements),
          bricks_(bricks),
          pass_(pass),
          pieces_(pieces),
          rows_(pieces == 1 ? pass.length : piece_rows(pass)),
          tiles_(ceil_div(pass.inner, tile)),
          columns_(tiles_ ? ceil_div(pass.inner, tiles_) : 0),
          y_(y) {}

    int64_t count() const { return pass_.outer * pieces_ * tiles_; }
    int64_t size() const { return std::max<int64_t>(1, rows_ * columns_); }

    void reduce(int part, int64_t begin, int64_t end) const {
        if (pieces_ == 1 && tiles_ == 1 && size() <= longest_read) return reduce_small(part, begin, end);
        for (int64_t unit = begin; unit < end; ++unit) reduce_unit(part, unit);
    }

private:
    // Contiguous units, as many as can be read at once.
    void reduce_small(int part, int64_t begin, int64_t end) const {
        int64_t size = rows_ * pass_.inner, batch = longest_read / this->size();
        for (int64_t unit = begin; unit < end; unit += batch) {
            int64_t count = std::min(batch, end - unit);
            const std::byte* x = elements_.read(part, unit * size, count * size);
            Y* to = y_ + unit * pass_.inner;
            if (pass_.inner == 1) {
                reduce_runs(x, count, to);
                continue;
            }
            for (int64_t i = 0; i < count; ++i)
                reduce_tile(elements_, bricks_, {.x = elements_.behind(x, i * size), .inner = pass_.inner},
                            rows_, pass_.inner, rows_in_f32, to + i * pass_.inner);
        }
    }

    void reduce_runs(const std::byte* x, int64_t count, Y* y) const {
        constexpr int64_t most = 256;
        const A* values = elements_.as_values(x);
        J totals[most];
        for (int64_t first = 0; first < count; first += most) {
            int64_t runs = std::min(most, count - first);
            std::fill_n(totals, runs, bricks_.nothing_joined);
            if (values && rows_)
                bricks_.add_runs(totals, values + first * rows_, runs, rows_);
            else
                for (int64_t i = 0; i < runs; ++i)
                    reduce_run(elements_, bricks_, elements_.behind(x, (first + i) * rows_), rows_,
                               totals[i]);
            for (int64_t i = 0; i < runs; ++i) y[first + i] = Y(totals[i]);
        }
    }

    void reduce_unit(int part, int64_t unit) const {
        int64_t column = unit % tiles_ * columns_, piece = unit / tiles_ % pieces_;
        int64_t outer = unit / tiles_ / pieces_, first = piece * rows_;
        int64_t rows = std::min(rows_, pass_.length - first);
        int64_t from = (outer * pass_.length + first) * pass_.inner + column;
        Y* to = y_ + (outer * pieces_ + piece) * pass_.inner + column;
        if (pass_.inner == 1) {
            J total = bricks_.nothing_joined;
            for (int64_t begin = 0; begin < rows; begin += run_length) {
                int64_t n = std::min(run_length, rows - begin);
                reduce_run(elements_, bricks_, elements_.read(part, from + begin, n), n, total);
            }
            *to = Y(total);
            return;
        }
        int64_t n = std::min(columns_, pass_.inner - column);
        Rows x{nullptr, part, from, pass_.inner};
        reduce_tile(elements_, bricks_, x, rows, n, n == pass_.inner ? longest_read / n : 1, to);
    }

    const Elements<A>& elements_;
    const Bricks<A, J>& bricks_;
    const ReducePass& pass_;
    int64_t pieces_, rows_, tiles_, columns_;  // rows and columns of a unit; the last ones may have fewer
    Y* y_;
};

template <class A, class J, class Y>
void run_units(const Elements<A>& elements, const Bricks<A, J>& bricks, const ReducePass& pass,
               int64_t pieces, Y* y, int threads) {
    Units<A, J, Y> units(elements, bricks, pass, pieces, y);
    in_parts(threads, units.count(), std::max<int64_t>(1, grain / elements.cost() / units.size()),
             [&](int part, int64_t begin, int64_t end) { units.reduce(part, begin, end); });
}

struct InMemory {
    const void* x;
    int64_t size;  // size of an element

    ElementReader reader() const {
        return {this, [](const void* source, int, int64_t begin, int64_t) -> const void* {
                    auto& memory = *static_cast<const InMemory*>(source);
                    return static_cast<const std::byte*>(memory.x) + begin * memory.size;
                }};
    }
};

// Values of an earlier pass.
template <class A, class J, class Y>
void run_units(const A* x, const Bricks<A, J>& bricks, const ReducePass& pass, int64_t pieces, Y* y,
               int threads) {
    InMemory memory{x, sizeof(A)};
    auto reader = memory.reader();
    run_units(Elements<A>::template of<A>(reader), bricks, pass, pieces, y, threads);
}

// For values and for their combination.
template <class A, class J>
struct Meaning {
    Bricks<A, J> values;
    Bricks<J, J> joined;
};
template <Reduction kind, class A>
const auto& meaning() {
    using J = Joined<A, kind>;
    static const Meaning<A, J> made{bricks<kind, A, J>(), bricks<kind, J, J>()};
    return made;
}

// One pass over values or Elements; `scratch` contains the outer * pieces * inner results of several pieces
// until they are combined.
template <class A, class J, class X>
void run_pass(const X& x, const Meaning<A, J>& meaning, const ReducePass& pass, A* y, J* scratch,
              int threads) {
    int64_t pieces = pieces_of(pass);
    if (pieces == 1) return run_units(x, meaning.values, pass, 1, y, threads);
    run_units(x, meaning.values, pass, pieces, scratch, threads);
    const J* joined = scratch;
    run_units(joined, meaning.joined, {pass.outer, pieces, pass.inner}, 1, y, threads);
}

struct ReduceState {
    std::vector<ReducePass> passes;
    DType in = DType::f32, out = DType::f32;
    Reduction kind = Reduction::sum;
    bool is_mean = false;
    int64_t outputs = 1, count = 1;
    size_t scratch = 0, result = 0;  // values of workspace: for pieces; for the result of a pass (twice)
};

template <class A>
void finish(const ReduceState& state, const A* values, void* out) {
    if (!state.is_mean) return write_results(values, state.outputs, state.out, out);
    for (int64_t i = 0; i < state.outputs; ++i)
        static_cast<Real<A>*>(out)[i] = Real<A>(double(values[i]) / double(state.count));
}

template <class A, class J>
void run_passes(const ReduceState& state, const Launch& launch, const Elements<A>& elements,
                const Meaning<A, J>& meaning) {
    auto* scratch = static_cast<J*>(launch.workspace);
    A* results[2] = {reinterpret_cast<A*>(scratch + state.scratch)};
    results[1] = results[0] + state.result;
    bool is_direct = !state.is_mean && size_of(state.out) == sizeof(A);
    const A* x = nullptr;
    for (size_t i = 0; i < state.passes.size(); ++i) {
        bool is_last = i + 1 == state.passes.size();
        A* y = is_last && is_direct ? launch.out<A>(0) : results[i % 2];
        if (i == 0)
            run_pass(elements, meaning, state.passes[i], y, scratch, launch.threads);
        else
            run_pass(x, meaning, state.passes[i], y, scratch, launch.threads);
        x = y;
    }
    if (!is_direct) finish(state, x, launch.outputs[0]);
}

}  // namespace

std::vector<ReducePass> plan_reduction(const Shape& x, const std::array<bool, max_rank>& reduced) {
    struct Group {
        int64_t extent;
        bool is_reduced;
    };
    std::vector<Group> groups;
    for (int axis = 0; axis < x.rank(); ++axis) {
        if (x[axis] == 1) continue;
        if (!groups.empty() && groups.back().is_reduced == reduced[size_t(axis)])
            groups.back().extent *= x[axis];
        else
            groups.push_back({x[axis], reduced[size_t(axis)]});
    }
    std::vector<ReducePass> passes;
    for (size_t i = groups.size(); i-- > 0;) {
        if (!groups[i].is_reduced) continue;
        ReducePass pass{1, groups[i].extent, 1};
        for (size_t j = 0; j < i; ++j) pass.outer *= groups[j].extent;
        for (size_t j = i + 1; j < groups.size(); ++j) pass.inner *= groups[j].extent;
        passes.push_back(pass);
        groups[i].extent = 1;
    }
    if (passes.empty()) passes.push_back({1, 1, x.numel()});
    return passes;
}

Prepared prepare_reduction(const Problem& problem, const std::array<bool, max_rank>& reduced, Reduction kind,
                           bool is_mean) {
    auto &x = problem.inputs[0], &y = problem.outputs[0];
    ReduceState state{plan_reduction(x.shape, reduced), x.dtype, y.dtype, kind, is_mean, y.numel(),
                      reduced_count(x.shape, reduced)};
    for (auto& pass : state.passes) {
        if (int64_t pieces = pieces_of(pass); pieces > 1)
            state.scratch = std::max(state.scratch, size_t(pass.outer * pieces * pass.inner));
        state.result = std::max(state.result, size_t(pass.outer * pass.inner));
    }
    size_t bytes =
        state.scratch * sizeof(double) + 2 * state.result * std::max(sizeof(float), size_of(x.dtype));
    return Prepared::make(std::move(state), bytes);
}

void run_reduction(const Prepared& prepared, const Launch& launch, const ElementReader& elements) {
    auto& state = prepared.state<ReduceState>();
    if (state.outputs == 0) return;
    dispatch_reduction(state.kind, state.is_mean, [&](auto kind, auto is_mean) {
        dispatch_dtype(state.in, AllTypes{}, [&]<class T>(std::type_identity<T>) {
            using A = typename Partial<T, decltype(kind)::value, decltype(is_mean)::value>::Type;
            run_passes(state, launch, Elements<A>::template of<T>(elements),
                       meaning<decltype(kind)::value, A>());
        });
    });
}

void run_reduction(const Prepared& prepared, const Launch& launch) {
    InMemory memory{launch.inputs[0], int64_t(size_of(prepared.state<ReduceState>().in))};
    run_reduction(prepared, launch, memory.reader());
}

}  // namespace mge::cpu
