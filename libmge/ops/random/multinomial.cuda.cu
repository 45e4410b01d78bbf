// SPDX-License-Identifier: Apache-2.0
// Each block draws from one row after the other, as the CPU does (multinomial.cpu.cpp): by running sums of
// the weights, or by the first events of processes with these rates.
#include "libmge/ops/random/multinomial.cuda.h"

#include "libmge/kernel/cuda/reduce/scan.cuh"
#include "libmge/kernel/cuda/rows.cuh"
#include "libmge/kernel/cuda/trials.cuh"

namespace mge::cuda {
namespace {

template <class T>
struct RowOfWeights {
    const T* weights;
    const PhiloxBlocks& blocks;
    int64_t row, categories, draws;

    MGE_DEVICE double operator[](int64_t i) const { return double(to_float(weights[i])); }
    MGE_DEVICE double uniform(int64_t i, int64_t row_length) const {
        return trials::open_uniform(blocks[row * row_length + i].w0);
    }
};

// True if the block's row has enough weights above 0, and no negative ones or NaN.
template <class T>
MGE_DEVICE bool is_distribution(const RowOfWeights<T>& row, bool replacement) {
    int possible = 0, wrong = 0;
    for (int64_t i = threadIdx.x; i < row.categories; i += blockDim.x) {
        double weight = row[i];
        wrong |= !(weight >= 0) || trials::is_infinite(weight);
        possible += weight > 0;
    }
    auto found = across_block(Both<int>{possible, wrong}, Plus());
    return found.b == 0 && found.a >= (replacement ? 1 : row.draws);
}

template <class T>
MGE_DEVICE void draw_again(const RowOfWeights<T>& row, double* sums, int32_t* y) {
    double total = 0;
    for (int64_t begin = 0; begin < row.categories; begin += blockDim.x) {
        int64_t i = begin + threadIdx.x;
        double weight = i < row.categories ? row[i] : 0;
        auto scanned = scan_block(weight);
        if (i < row.categories) sums[i] = total + (scanned.before + weight);
        total += scanned.total;
    }
    __syncthreads();
    for (int64_t k = threadIdx.x; k < row.draws; k += blockDim.x) {
        double at = row.uniform(k, row.draws) * total;
        int64_t first = 0, behind = row.categories - 1;  // the first whose sum is larger, else the last
        while (first < behind) {
            int64_t middle = (first + behind) / 2;
            if (sums[middle] > at)
                behind = middle;
            else
                first = middle + 1;
        }
        // Rounding may reach the end of a sum, behind which there are only zeros.
        while (first > 0 && row[first] == 0) --first;
        y[k] = int32_t(first);
    }
}

struct Event {
    double time;
    int64_t category;
};
MGE_DEVICE bool is_before(const Event& a, const Event& b) {
    return a.time < b.time || (a.time == b.time && a.category < b.category);
}
MGE_DEVICE Event exchanged(Event e, int bits) {
    return {cuda::exchanged(e.time, bits), cuda::exchanged(e.category, bits)};
}
struct Earlier {
    MGE_DEVICE Event operator()(Event a, Event b) const { return is_before(b, a) ? b : a; }
};

template <class T>
MGE_DEVICE void draw_once(const RowOfWeights<T>& row, double* times, int32_t* y) {
    const Event never{HUGE_VAL, row.categories};
    for (int64_t i = threadIdx.x; i < row.categories; i += blockDim.x)
        times[i] = row[i] > 0 ? -::log(row.uniform(i, row.categories)) / row[i] : never.time;
    __syncthreads();
    Event last{-1, -1};
    for (int64_t k = 0; k < row.draws; ++k) {
        Event first = never;
        for (int64_t i = threadIdx.x; i < row.categories; i += blockDim.x) {
            Event event{times[i], i};
            if (is_before(last, event) && is_before(event, first)) first = event;
        }
        last = across_block(first, Earlier());
        if (threadIdx.x == 0) y[k] = int32_t(last.category);
    }
}

template <class T>
__global__ void draw_rows(DrawArguments x) {
    PhiloxBlocks blocks(x.state, x.random_stream);
    double* numbers = x.numbers + blockIdx.x * x.categories;
    for (int64_t i = blockIdx.x; i < x.rows; i += gridDim.x) {
        auto* weights = static_cast<const T*>(x.weights) + i * x.categories;
        RowOfWeights<T> row{weights, blocks, i, x.categories, x.draws};
        if (!is_distribution(row, x.replacement)) {
            *x.fault = 1;
            continue;
        }
        if (x.replacement)
            draw_again(row, numbers, x.y + i * x.draws);
        else
            draw_once(row, numbers, x.y + i * x.draws);
        __syncthreads();
    }
}

}  // namespace

void draw_categories(Stream stream, int type, const DrawArguments& x) {
    dispatch_type(type, FloatTypes{}, [&]<class T>(T*) {
        launch(draw_rows<T>, unsigned(x.blocks), block_threads, 0, stream, x);
    });
}

}  // namespace mge::cuda
