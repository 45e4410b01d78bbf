// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/distribution.cuda.h"

#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/kernel/cuda/philox.cuh"

namespace mge::cuda {
namespace {

// y[4b … 4b + 3] = four; the last block may have fewer.
MGE_DEVICE void store_four(float* y, int64_t block, int64_t count, float4 four) {
    int64_t rest = count - 4 * block;
    if (rest >= 4 && reinterpret_cast<uintptr_t>(y) % pack_bytes == 0) {
        reinterpret_cast<float4*>(y)[block] = four;
        return;
    }
    y += 4 * block;
    y[0] = four.x;
    if (rest > 1) y[1] = four.y;
    if (rest > 2) y[2] = four.z;
    if (rest > 3) y[3] = four.w;
}

// Each step is rounded, as on the CPU: the numbers are the same.
MGE_DEVICE float uniform(unsigned bits, UniformRange range) {
    return fminf(__fadd_rn(range.low, __fmul_rn(philox_uniform(bits), range.extent)), range.last);
}

__global__ void draw_uniform(const int32_t* state, unsigned random_stream, int64_t count, UniformRange range,
                             float* y) {
    PhiloxBlocks blocks(state, random_stream);
    for (int64_t b = first_piece(); 4 * b < count; b += piece_step()) {
        PhiloxWords words = blocks[b];
        store_four(y, b, count,
                   {uniform(words.w0, range), uniform(words.w1, range), uniform(words.w2, range),
                    uniform(words.w3, range)});
    }
}

// Two independent normal numbers from a point of the unit square (Box and Muller, 1958).
MGE_DEVICE float2 box_muller(unsigned first, unsigned second, float mean, float deviation) {
    float radius = deviation * sqrtf(-2 * logf(philox_positive(first)));
    float angle = 6.2831853071795865f * philox_uniform(second), sine, cosine;
    sincosf(angle, &sine, &cosine);
    return {mean + radius * cosine, mean + radius * sine};
}

__global__ void draw_normal(const int32_t* state, unsigned random_stream, int64_t count, float mean,
                            float deviation, float* y) {
    PhiloxBlocks blocks(state, random_stream);
    for (int64_t b = first_piece(); 4 * b < count; b += piece_step()) {
        PhiloxWords words = blocks[b];
        float2 a = box_muller(words.w0, words.w1, mean, deviation);
        float2 c = box_muller(words.w2, words.w3, mean, deviation);
        store_four(y, b, count, {a.x, a.y, c.x, c.y});
    }
}

}  // namespace

void fill_uniform(Stream stream, const int32_t* state, unsigned random_stream, int64_t count,
                  UniformRange range, float* y) {
    launch(draw_uniform, grid_for((count + 3) / 4), block_threads, 0, stream, state, random_stream, count,
           range, y);
}

void fill_normal(Stream stream, const int32_t* state, unsigned random_stream, int64_t count, float mean,
                 float deviation, float* y) {
    launch(draw_normal, grid_for((count + 3) / 4), block_threads, 0, stream, state, random_stream, count,
           mean, deviation, y);
}

}  // namespace mge::cuda
