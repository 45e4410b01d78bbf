// SPDX-License-Identifier: Apache-2.0
// Attention without its scores in memory (Dao et al., 2022). A block of threads has a tile of rows, queries
// or keys, and iterates over the matching rows, a tile at a time: products of their rows are scores, scores
// become weights, and the weights, in shared memory, are multiplied by the rows of a third operand. Each
// gradient is such a sum of weighted rows and has separate blocks, which compute the scores again; so no
// block adds to results of another, and results are bit-identical in each run.
#include "libmge/ops/nn/attention/attention.cuda.h"

#include "libmge/kernel/cuda/products.cuh"
#include "libmge/kernel/cuda/rows.cuh"

namespace mge::cuda {
namespace {

constexpr float infinite = __builtin_huge_valf();

using Square = MediumTile;
constexpr int side = Square::m, pitch = side + row_padding;
static_assert(Square::m == Square::n && Square::threads_along_n == 16);
// Tiles of columns that a block computes at once, so that scores are computed once for as many columns.
constexpr int chunks = 2;

template <class T>
using Operand = Share<Strided<T>, float, side, Square::depth, Square::threads>;
using Sums = float[Square::thread_m][Square::thread_n];

// Rows of an operand of one head.
template <class T>
MGE_DEVICE Strided<T> rows_of(const T* x, const AttentionStrides& strides, int64_t batch, int64_t head) {
    return {x + batch * strides.batch + head * strides.head, strides.row, 1};
}
MGE_DEVICE int64_t visible_keys_of(const AttentionShape& s, int64_t query) {
    if (!s.is_causal) return s.keys;
    int64_t seen = query + s.first_visible;
    return seen < 0 ? 0 : seen < s.keys ? seen : s.keys;
}
// The row of the calling thread in a tile.
MGE_DEVICE int row_in_tile(int i) {
    return int(threadIdx.x) / Square::threads_along_n * Square::thread_m + i;
}
MGE_DEVICE int column_in_tile(int j) {
    return int(threadIdx.x) % Square::threads_along_n * Square::thread_n + j;
}

// A tile of products of rows.
template <class T>
MGE_DEVICE void multiply_rows(const Strided<T>& a, int64_t a_row, int64_t a_rows, const Strided<T>& b,
                              int64_t b_row, int64_t b_rows, int64_t width, Sums& sums) {
    Operand<T> left(a, a_row, a_rows), right(b, b_row, b_rows);
#pragma unroll
    for (auto& row : sums)
#pragma unroll
        for (float& sum : row) sum = 0;
    multiply_tile<Square>(left, right, 0, width, sums);
}

// The weights of a tile go to shared memory, those of a column one behind the other.
MGE_DEVICE void share_weights(const Sums& values, float* weights) {
    __syncthreads();  // other threads may still read the last ones
#pragma unroll
    for (int i = 0; i < Square::thread_m; ++i)
#pragma unroll
        for (int j = 0; j < Square::thread_n; ++j)
            weights[column_in_tile(j) * pitch + row_in_tile(i)] = values[i][j];
}

// Adds the weighted rows [first, first + side) of x, as far as there are `rows`; of its columns those of the
// chunk.
template <class T>
MGE_DEVICE void add_rows(const float* weights, const Strided<T>& x, int64_t first, int64_t rows,
                         int64_t column, int64_t columns, Sums& sums) {
    alignas(16) __shared__ float tile[Square::depth * pitch];
    Operand<T> right(Strided<T>{x.data, 1, x.row_stride}, column, columns);
    for (int part = 0; part < side && first + part < rows; part += Square::depth) {
        right.load(first + part, rows);
        __syncthreads();  // other threads may still read the last ones
        right.store(tile);
        __syncthreads();
        accumulate<Square>(weights + part * pitch, tile, sums);
    }
}
template <class T>
MGE_DEVICE void add_chunks(const float* weights, const Strided<T>& x, int64_t first, int64_t rows,
                           int64_t column, int64_t columns, Sums (&sums)[chunks]) {
#pragma unroll
    for (int c = 0; c < chunks; ++c)
        if (column + c * side < columns)
            add_rows(weights, x, first, rows, column + c * side, columns, sums[c]);
}

// The position of a block: the rows of a head, and the columns of the result.
struct At {
    int64_t row, column, head, batch;
};
struct Grid {
    int64_t rows, columns, heads, batches;
    int64_t down, across;  // tiles of a head
    int64_t tiles() const { return down * across * heads * batches; }
};
Grid grid_of(int64_t rows, int64_t columns, int64_t heads, int64_t batches) {
    constexpr int64_t width = chunks * side;
    return {rows, columns, heads, batches, (rows + side - 1) / side, (columns + width - 1) / width};
}
MGE_DEVICE At place_of(const Grid& g, int64_t tile) {
    At at;
    at.column = split_index(tile, g.across) * (chunks * side);
    at.row = split_index(tile, g.down) * side;
    at.head = split_index(tile, g.heads);
    at.batch = tile;
    return at;
}

// Writes a tile's rows, each times a factor.
template <class T>
MGE_DEVICE void store_rows(T* y, int64_t row_stride, const Grid& g, const At& at, const Sums (&sums)[chunks],
                           const float (&factors)[Square::thread_m]) {
#pragma unroll
    for (int i = 0; i < Square::thread_m; ++i) {
        int64_t row = at.row + row_in_tile(i);
        if (row >= g.rows) continue;
#pragma unroll
        for (int c = 0; c < chunks; ++c)
#pragma unroll
            for (int j = 0; j < Square::thread_n; ++j) {
                int64_t column = at.column + c * side + column_in_tile(j);
                if (column < g.columns)
                    y[row * row_stride + column] = from_float<T>(sums[c][i][j] * factors[i]);
            }
    }
}

// The mask of a head's scores.
template <class T>
struct MaskOfHead {
    const T* first;  // null: none
    int64_t query, key;
    MGE_DEVICE MaskOfHead(const T* mask, const AttentionMaskStrides& s, int64_t batch, int64_t head)
        : first(mask ? mask + batch * s.batch + head * s.head : nullptr), query(s.query), key(s.key) {}
    MGE_DEVICE float at(int64_t i, int64_t j) const {
        return first ? to_float(first[i * query + j * key]) : 0;
    }
};

// --- forward ---

struct Softmax {
    float top[Square::thread_m], sum[Square::thread_m];  // for the thread's rows; the sums are its own part
};

// Scores become weights, and what was summed up so far what it is by them.
template <class T>
MGE_DEVICE void update(const AttentionShape& s, const MaskOfHead<T>& mask, int64_t first_query,
                       int64_t first_key, Sums& scores, Softmax& softmax, Sums (&values)[chunks]) {
#pragma unroll
    for (int i = 0; i < Square::thread_m; ++i) {
        int64_t query = first_query + row_in_tile(i),
                seen = query < s.queries ? visible_keys_of(s, query) : 0;
        float top = softmax.top[i], sum = 0;
#pragma unroll
        for (int j = 0; j < Square::thread_n; ++j) {
            int64_t key = first_key + column_in_tile(j);
            scores[i][j] = key < seen ? scores[i][j] * s.scale + mask.at(query, key) : -infinite;
            top = Largest()(top, scores[i][j]);
        }
        top = across_lanes(top, Square::threads_along_n, Largest());
        // For a query that has not seen any key, all differences are minus infinity.
        float shift = top == -infinite ? 0 : top, factor = expf(softmax.top[i] - shift);
#pragma unroll
        for (int j = 0; j < Square::thread_n; ++j) sum += scores[i][j] = expf(scores[i][j] - shift);
        softmax.sum[i] = softmax.sum[i] * factor + sum;
        softmax.top[i] = top;
#pragma unroll
        for (int c = 0; c < chunks; ++c)
#pragma unroll
            for (int j = 0; j < Square::thread_n; ++j) values[c][i][j] *= factor;
    }
}

template <class T>
MGE_DEVICE void store_result(const AttentionShape& s, const AttentionTensors<T>& t, const Grid& g,
                             const At& at, const Softmax& softmax, const Sums (&values)[chunks]) {
    float factors[Square::thread_m];
#pragma unroll
    for (int i = 0; i < Square::thread_m; ++i) {
        float sum = across_lanes(softmax.sum[i], Square::threads_along_n, Plus());
        int64_t query = at.row + row_in_tile(i);
        factors[i] = sum == 0 ? 0 : 1 / sum;
        if (query < s.queries && at.column == 0 && column_in_tile(0) == 0)
            t.log_sum_exp[(at.batch * s.heads + at.head) * s.queries + query] =
                sum == 0 ? infinite : softmax.top[i] + logf(sum);
    }
    store_rows(t.y + at.batch * s.y.batch + at.head * s.y.head, s.y.row, g, at, values, factors);
}

template <class T>
__global__ void __launch_bounds__(Square::threads)
    attend_tiles(AttentionShape s, AttentionTensors<T> t, Grid g, int64_t tiles) {
    alignas(16) __shared__ float weights[side * pitch];
    for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        At at = place_of(g, tile);
        int64_t shared = at.head / (s.heads / s.shared_heads);
        auto q = rows_of(t.q, s.q, at.batch, at.head);
        auto k = rows_of(t.k, s.k, at.batch, shared), v = rows_of(t.v, s.v, at.batch, shared);
        MaskOfHead<T> mask(t.mask, s.mask, at.batch, at.head);
        Softmax softmax;
        for (float& top : softmax.top) top = -infinite;
        for (float& sum : softmax.sum) sum = 0;
        Sums values[chunks] = {};
        int64_t last = at.row + side < s.queries ? at.row + side : s.queries,
                seen = visible_keys_of(s, last - 1);
        for (int64_t key = 0; key < seen; key += side) {
            Sums scores;
            multiply_rows(q, at.row, s.queries, k, key, s.keys, s.width, scores);
            update(s, mask, at.row, key, scores, softmax, values);
            share_weights(scores, weights);
            add_chunks(weights, v, key, s.keys, at.column, s.value_width, values);
        }
        store_result(s, t, g, at, softmax, values);
    }
}

// --- backward ---

// rest = Σ dy·y − dlog_sum_exp, a warp for each query of each head.
template <class T>
__global__ void sum_rest(AttentionShape s, AttentionGradients<T> t) {
    int64_t rows = s.batch * s.heads * s.queries;
    for (int64_t row = first_piece() / 32; row < rows; row += piece_step() / 32) {
        int64_t rest = row, query = split_index(rest, s.queries), head = split_index(rest, s.heads);
        int64_t at = rest * s.y.batch + head * s.y.head + query * s.y.row;
        float sum = 0;
        for (int64_t i = threadIdx.x % 32; i < s.value_width; i += 32)
            sum += to_float(t.dy[at + i]) * to_float(t.y[at + i]);
        sum = across_lanes(sum, 32, Plus());
        if (threadIdx.x % 32 == 0) t.rest[row] = t.dlog_sum_exp ? sum - t.dlog_sum_exp[row] : sum;
    }
}

enum class Of { queries, keys, values };

// The operands of a tile's scores and their gradients: rows of queries and of keys, or vice versa, and the
// factors of the result's weights.
template <class T, Of of>
struct Meeting {
    static constexpr bool by_query = of == Of::queries;
    static constexpr bool has_gradient = of != Of::values;  // weights: of the scores' gradient

    const AttentionShape& s;
    const AttentionGradients<T>& t;
    MaskOfHead<T> mask;
    Strided<T> q, k, v, dy;
    const float *log_sum_exp, *rest;

    MGE_DEVICE Meeting(const AttentionShape& shape, const AttentionGradients<T>& tensors, int64_t batch,
                       int64_t head)
        : s(shape),
          t(tensors),
          mask(t.mask, s.mask, batch, head),
          q(rows_of(t.q, s.q, batch, head)),
          k(rows_of(t.k, s.k, batch, head / (s.heads / s.shared_heads))),
          v(rows_of(t.v, s.v, batch, head / (s.heads / s.shared_heads))),
          dy(rows_of(t.dy, s.y, batch, head)) {
        int64_t first = (batch * s.heads + head) * s.queries;
        log_sum_exp = t.log_sum_exp + first;
        rest = t.rest + first;
    }
    MGE_DEVICE const Strided<T>& weighted() const { return by_query ? k : has_gradient ? q : dy; }

    // A score, and the product of dy and v, as a weight of the result.
    MGE_DEVICE float weight(int64_t row, int64_t other, float score, float product) const {
        int64_t query = by_query ? row : other, key = by_query ? other : row;
        if (query >= s.queries || key >= visible_keys_of(s, query)) return 0;
        float weight = expf(score * s.scale + mask.at(query, key) - log_sum_exp[query]);
        return has_gradient ? weight * (product - rest[query]) * s.scale : weight;
    }
    MGE_DEVICE void tile_of_products(const Strided<T>& of_query, const Strided<T>& of_key, int64_t width,
                                     int64_t row, int64_t other, Sums& sums) const {
        if constexpr (by_query)
            multiply_rows(of_query, row, s.queries, of_key, other, s.keys, width, sums);
        else
            multiply_rows(of_key, row, s.keys, of_query, other, s.queries, width, sums);
    }
    MGE_DEVICE void tile_of_weights(int64_t row, int64_t other, Sums& scores) const {
        Sums products;
        tile_of_products(q, k, s.width, row, other, scores);
        if constexpr (has_gradient) tile_of_products(dy, v, s.value_width, row, other, products);
#pragma unroll
        for (int i = 0; i < Square::thread_m; ++i)
#pragma unroll
            for (int j = 0; j < Square::thread_n; ++j)
                scores[i][j] = weight(row + row_in_tile(i), other + column_in_tile(j), scores[i][j],
                                      has_gradient ? products[i][j] : 0);
    }
    // The first and the end of those that the rows of a tile meet.
    MGE_DEVICE int64_t begin(int64_t row) const {
        if (by_query || !s.is_causal) return 0;
        int64_t first = row + 1 - s.first_visible;
        return first < 0 ? 0 : first / side * side;
    }
    MGE_DEVICE int64_t end(int64_t row) const {
        if (!by_query) return s.queries;
        return visible_keys_of(s, (row + side < s.queries ? row + side : s.queries) - 1);
    }
};

template <class T, Of of>
MGE_DEVICE void add_head(const AttentionShape& s, const AttentionGradients<T>& t, const Grid& g, const At& at,
                         int64_t head, float* weights, Sums (&sums)[chunks]) {
    Meeting<T, of> meeting(s, t, at.batch, head);
    int64_t others = of == Of::queries ? s.keys : s.queries;
    for (int64_t other = meeting.begin(at.row); other < meeting.end(at.row); other += side) {
        Sums values;
        meeting.tile_of_weights(at.row, other, values);
        share_weights(values, weights);
        add_chunks(weights, meeting.weighted(), other, others, at.column, g.columns, sums);
    }
}

template <class T, Of of>
__global__ void __launch_bounds__(Square::threads)
    attend_tiles_backward(AttentionShape s, AttentionGradients<T> t, Grid g, int64_t tiles) {
    alignas(16) __shared__ float weights[side * pitch];
    const float ones[Square::thread_m] = {1, 1, 1, 1};
    for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        At at = place_of(g, tile);
        Sums sums[chunks] = {};
        int64_t group = of == Of::queries ? 1 : s.heads / s.shared_heads;
        for (int64_t head = at.head * group; head < (at.head + 1) * group; ++head)
            add_head<T, of>(s, t, g, at, head, weights, sums);
        const AttentionStrides& strides = of == Of::queries ? s.q : of == Of::keys ? s.k : s.v;
        T* to = of == Of::queries ? t.dq : of == Of::keys ? t.dk : t.dv;
        store_rows(to + at.batch * strides.batch + at.head * strides.head, strides.row, g, at, sums, ones);
    }
}

template <class T, Of of>
void launch_backward(Stream stream, const AttentionShape& s, const AttentionGradients<T>& t) {
    Grid g = grid_of(of == Of::queries ? s.queries : s.keys, of == Of::values ? s.value_width : s.width,
                     of == Of::queries ? s.heads : s.shared_heads, s.batch);
    if (int64_t tiles = g.tiles())
        launch(attend_tiles_backward<T, of>, bounded_blocks(tiles), unsigned(Square::threads), 0, stream, s,
               t, g, tiles);
}

}  // namespace

template <class T>
void attend(Stream stream, const AttentionShape& s, const AttentionTensors<T>& t) {
    Grid g = grid_of(s.queries, s.value_width, s.heads, s.batch);
    if (g.across == 0) g.across = 1;  // rows without columns have a sum of exponentials still
    if (int64_t tiles = g.tiles())
        launch(attend_tiles<T>, bounded_blocks(tiles), unsigned(Square::threads), 0, stream, s, t, g, tiles);
}
template void attend(Stream, const AttentionShape&, const AttentionTensors<f16>&);
template void attend(Stream, const AttentionShape&, const AttentionTensors<bf16>&);
template void attend(Stream, const AttentionShape&, const AttentionTensors<float>&);

template <class T>
void attend_backward(Stream stream, const AttentionShape& s, const AttentionGradients<T>& t) {
    int64_t rows = s.batch * s.heads * s.queries;
    if (rows) launch(sum_rest<T>, grid_for(rows * 32), block_threads, 0, stream, s, t);
    launch_backward<T, Of::queries>(stream, s, t);
    launch_backward<T, Of::keys>(stream, s, t);
    launch_backward<T, Of::values>(stream, s, t);
}
template void attend_backward(Stream, const AttentionShape&, const AttentionGradients<f16>&);
template void attend_backward(Stream, const AttentionShape&, const AttentionGradients<bf16>&);
template void attend_backward(Stream, const AttentionShape&, const AttentionGradients<float>&);

}  // namespace mge::cuda
