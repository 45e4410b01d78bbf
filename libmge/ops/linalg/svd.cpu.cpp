// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/linalg/svd.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::jacobi {

using std::copysign, std::fabs, std::hypot, std::sqrt;
#include "libmge/kernel/scalar/jacobi.inc"

}  // namespace mge::jacobi

namespace mge::ops {
namespace {

using Vectors = std::vector<std::vector<double>>;

double dot(const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

void rotate(std::vector<double>& a, std::vector<double>& b, double cosine, double sine) {
    for (size_t i = 0; i < a.size(); ++i) {
        double x = a[i], y = b[i];
        a[i] = cosine * x - sine * y;
        b[i] = sine * x + cosine * y;
    }
}

// Turns a pair of columns, and `turns` with them, until they are orthogonal; false when they are already.
bool make_orthogonal(Vectors& columns, Vectors& turns, size_t i, size_t j) {
    auto turn = jacobi::turn_of(dot(columns[i], columns[i]), dot(columns[j], columns[j]),
                                dot(columns[i], columns[j]));
    if (!turn.is_needed) return false;
    rotate(columns[i], columns[j], turn.cosine, turn.sine);
    rotate(turns[i], turns[j], turn.cosine, turn.sine);
    return true;
}

// Every pair; false when there was nothing to turn.
bool turn_all(Vectors& columns, Vectors& turns) {
    auto n = int64_t(columns.size());
    bool has_turned = false;
    for (int64_t round = 0; round < jacobi::rounds_of(n); ++round)
        for (int64_t number = 0; number < jacobi::pairs_in_round(n); ++number) {
            auto [i, j] = jacobi::pair_of(n, round, number);
            if (j < n && make_orthogonal(columns, turns, size_t(i), size_t(j))) has_turned = true;
        }
    return has_turned;
}

// A unit vector orthogonal to the others: of the axes' directions the one that they leave most of.
std::vector<double> another_direction(const Vectors& others, size_t length) {
    std::vector<double> best(length);
    for (size_t axis = 0; axis < length; ++axis) {
        std::vector<double> rest(length);
        rest[axis] = 1;
        for (int again = 0; again < 2; ++again)  // the second time takes off what rounding left
            for (auto& other : others) {
                double share = dot(rest, other);
                for (size_t i = 0; i < length; ++i) rest[i] -= share * other[i];
            }
        if (dot(rest, rest) > dot(best, best)) best = std::move(rest);
    }
    double norm = std::sqrt(dot(best, best));
    for (double& x : best) x /= norm;
    return best;
}

// The columns c of a matrix, of which there are no more than rows: c · turns is orthogonal, the lengths of
// its columns are the singular values.
struct Decomposition {
    Vectors left, right;  // those of each singular value, the largest first
    std::vector<double> values;

    explicit Decomposition(Vectors columns) {
        size_t n = columns.size(), length = n ? columns[0].size() : 0;
        Vectors turns(n, std::vector<double>(n));
        for (size_t i = 0; i < n; ++i) turns[i][i] = 1;
        bool is_done = false;
        for (int sweep = 0; sweep < jacobi::most_sweeps && !is_done; ++sweep)
            is_done = !turn_all(columns, turns);
        std::vector<double> lengths;
        for (auto& column : columns) lengths.push_back(std::sqrt(dot(column, column)));
        std::vector<size_t> order(n);
        std::iota(order.begin(), order.end(), size_t(0));
        std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) {
            return lengths[i] > lengths[j] || (std::isnan(lengths[j]) && !std::isnan(lengths[i]));
        });
        for (size_t i : order) {
            values.push_back(lengths[i]);
            right.push_back(std::move(turns[i]));
            if (lengths[i] == 0) {
                left.push_back(another_direction(left, length));
                continue;
            }
            for (double& x : columns[i]) x /= lengths[i];
            left.push_back(std::move(columns[i]));
        }
    }
};

template <class T>
void decompose(const T* x, T* u, T* s, T* v, int64_t m, int64_t n) {
    bool is_wide = m < n;  // then the transposed matrix is decomposed
    int64_t k = std::min(m, n), length = std::max(m, n);
    Vectors columns(static_cast<size_t>(k), std::vector<double>(static_cast<size_t>(length)));
    for (int64_t i = 0; i < k; ++i)
        for (int64_t j = 0; j < length; ++j)
            columns[size_t(i)][size_t(j)] = float(is_wide ? x[i * n + j] : x[j * n + i]);
    Decomposition d(std::move(columns));
    auto& of_rows = is_wide ? d.right : d.left;
    auto& of_columns = is_wide ? d.left : d.right;
    for (int64_t i = 0; i < k; ++i) {
        auto at = static_cast<size_t>(i);
        s[i] = T(float(d.values[at]));
        for (int64_t j = 0; j < m; ++j) u[j * k + i] = T(float(of_rows[at][size_t(j)]));
        for (int64_t j = 0; j < n; ++j) v[i * n + j] = T(float(of_columns[at][size_t(j)]));
    }
}

void run_jacobi(const Prepared& prepared, const Launch& launch) {
    auto& x = prepared.state<ProblemState<NoParams>>().inputs[0];
    int64_t m = x.shape[x.shape.rank() - 2], n = x.shape[x.shape.rank() - 1], k = std::min(m, n);
    int64_t matrices = k > 0 ? x.numel() / (m * n) : 0;
    dispatch_dtype(x.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        par_for(launch.threads, matrices, parallel_grain / (m * n * k + 1) + 1,
                [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i)
                        decompose(launch.in<T>(0) + i * m * n, launch.out<T>(0) + i * m * k,
                                  launch.out<T>(1) + i * k, launch.out<T>(2) + i * k * n, m, n);
                });
    });
}

}  // namespace

KernelList kernels(Cpu, Svd) { return one_algorithm<copy_problem<NoParams>, run_jacobi>("jacobi"); }

}  // namespace mge::ops
