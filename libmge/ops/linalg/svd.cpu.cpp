// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/linalg/svd.h"
#include "libmge/tensor/dtype_dispatch.h"

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
    constexpr double rounding = 1e-15;
    double a = dot(columns[i], columns[i]), b = dot(columns[j], columns[j]), c = dot(columns[i], columns[j]);
    if (!(std::abs(c) > rounding * std::sqrt(a * b))) return false;
    double zeta = (b - a) / (2 * c);
    double tangent = std::copysign(1 / (std::abs(zeta) + std::hypot(1, zeta)), zeta);
    double cosine = 1 / std::hypot(1, tangent);
    rotate(columns[i], columns[j], cosine, cosine * tangent);
    rotate(turns[i], turns[j], cosine, cosine * tangent);
    return true;
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
// its columns are the singular values (one-sided method of Jacobi; Hestenes, 1958).
struct Decomposition {
    Vectors left, right;  // of each singular value, the largest first
    std::vector<double> values;

    explicit Decomposition(Vectors columns) {
        constexpr int most_sweeps = 60;  // fewer than ten, but for what is no number
        size_t n = columns.size(), length = n ? columns[0].size() : 0;
        Vectors turns(n, std::vector<double>(n));
        for (size_t i = 0; i < n; ++i) turns[i][i] = 1;
        bool is_done = false;
        for (int sweep = 0; sweep < most_sweeps && !is_done; ++sweep) {
            is_done = true;
            for (size_t i = 0; i < n; ++i)
                for (size_t j = i + 1; j < n; ++j)
                    if (make_orthogonal(columns, turns, i, j)) is_done = false;
        }
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
    dispatch_dtype(x.dtype, FloatTypes{}, [&](auto type) {
        using T = typename decltype(type)::type;
        par_for(launch.threads, matrices, parallel_grain / (m * n * k + 1) + 1,
                [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i)
                        decompose(launch.in<T>(0) + i * m * n, launch.out<T>(0) + i * m * k,
                                  launch.out<T>(1) + i * k, launch.out<T>(2) + i * k * n, m, n);
                });
    });
}

}  // namespace

KernelList kernels(Cpu, Svd) {
    static constexpr Algorithm list[] = {{"jacobi", plain_layouts, copy_problem<NoParams>, run_jacobi}};
    return list;
}

}  // namespace mge::ops
