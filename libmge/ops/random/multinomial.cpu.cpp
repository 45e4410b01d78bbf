// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/multinomial.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "libmge/base/number_text.h"
#include "libmge/kernel/cpu/trials.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/random/random_state.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

// The random blocks of a row: element i of the whole result or of all weights has block i.
struct Row {
    const PhiloxBlocks& blocks;
    int64_t index;
    const std::vector<double>& weights;

    double uniform(int64_t i, int64_t row_length) const {
        return trials::open_uniform(blocks[index * row_length + i].w0);
    }
};

// Weights as they are, once they are known to be a distribution's.
template <class T>
void read_weights(const T* from, int64_t row, bool replacement, int64_t draws, std::vector<double>& weights) {
    int64_t possible = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
        weights[i] = double(float(from[i]));
        if (!(weights[i] >= 0) || std::isinf(weights[i]))
            throw_user(Multinomial::name, text("weight ", i, " of row ", row, " is ", weights[i],
                                               ", expected a number that is not negative"));
        possible += weights[i] > 0;
    }
    if (possible < (replacement ? 1 : draws))
        throw_user(Multinomial::name, text("row ", row, " has ", counted(possible, "weight"),
                                           " above 0, too few for ", counted(draws, "draw")));
}

// The category in whose part of the sum of all a uniform number falls.
void draw_again(const Row& row, int64_t draws, int32_t* y) {
    std::vector<double> sums(row.weights.size());
    double sum = 0;
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = sum += row.weights[i];
    for (int64_t k = 0; k < draws; ++k) {
        double at = row.uniform(k, draws) * sum;
        y[k] = int32_t(std::upper_bound(sums.begin(), sums.end() - 1, at) - sums.begin());
        // Rounding may reach the end of a sum, behind which there are only zeros.
        while (row.weights[size_t(y[k])] == 0) --y[k];
    }
}

// The first events of processes whose rates are the weights (Efraimidis and Spirakis, 2006).
void draw_once(const Row& row, int64_t draws, int32_t* y) {
    auto n = int64_t(row.weights.size());
    std::vector<std::pair<double, int32_t>> times;
    for (int64_t i = 0; i < n; ++i)
        if (double weight = row.weights[size_t(i)]; weight > 0)
            times.emplace_back(-std::log(row.uniform(i, n)) / weight, int32_t(i));
    std::partial_sort(times.begin(), times.begin() + draws, times.end());
    for (int64_t k = 0; k < draws; ++k) y[k] = times[size_t(k)].second;
}

void run_multinomial(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<Multinomial::Params>>();
    int64_t draws = problem.params.num_samples;
    bool replacement = problem.params.replacement;
    auto& spec = problem.inputs[1];
    int64_t categories = spec.shape[spec.shape.rank() - 1];
    PhiloxBlocks blocks(launch.in<int32_t>(0), uint32_t(RandomStream::multinomial));
    int32_t* y = launch.out<int32_t>(0);
    dispatch_dtype(spec.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        auto* weights = launch.in<T>(1);
        int64_t grain = std::max<int64_t>(1, parallel_grain / (16 * categories));
        par_for(launch.threads, spec.numel() / categories, grain, [&](int64_t begin, int64_t end) {
            std::vector<double> row(static_cast<size_t>(categories));
            for (int64_t i = begin; i < end; ++i) {
                read_weights(weights + i * categories, i, replacement, draws, row);
                auto* draw = replacement ? draw_again : draw_once;
                draw({blocks, i, row}, draws, y + i * draws);
            }
        });
    });
}

}  // namespace

KernelList kernels(Cpu, Multinomial) {
    // A measurement's made-up weights, of which some are below 0, are refused.
    return one_algorithm<copy_problem<Multinomial::Params>, run_multinomial>("by_row", {.unmeasured = true});
}

}  // namespace mge::ops
