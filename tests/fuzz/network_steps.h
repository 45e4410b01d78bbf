// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "libmge/tensor/tensor.h"
#include "tests/fuzz/random_network.h"

namespace mge::fuzz {

// Multiples of 1/4, the same for the same seed: sums of their products are exact.
Tensor random_numbers(const Shape& shape, unsigned seed);

// The steps of a network, applied to symbols first, which shows those that operators refuse, then eagerly
// without these.
class NetworkSteps {
public:
    NetworkSteps(Bytes genes, const Tensors& inputs, std::vector<bool>& refused, bool is_symbolic);

    size_t count() const;
    void apply(size_t step);
    const Tensor& newest() const { return values_.back().tensor; }
    const Tensor& value(size_t i) const { return values_[i % values_.size()].tensor; }
    double largest() const { return largest_; }
    bool has_steps() const { return has_steps_; }
    bool has_halves() const { return has_halves_; }

private:
    struct Value {
        Tensor tensor;
        double bound;  // no magnitude is above
        // Every kernel gives the same number up to its last bits, and it is far from the middle between two
        // steps: it may be quantised.
        bool is_exact = true;
    };
    using Step = void (NetworkSteps::*)();
    static std::span<const Step> steps();

    void push(const Tensor& x, double bound, bool is_exact = true);
    void push_like(const Value& value, const Tensor& x) { push(x, value.bound, value.is_exact); }
    // A value; every other time the newest.
    Value pick();
    // One of rank 4; a refusal where there is none.
    Value image();
    // One of the same shape but for one axis, else the value itself.
    Value fitting(const Value& value, int axis);
    Value limited(const Value& value) const;
    int axis_of(const Tensor& x);
    Tensor numbers(const Shape& shape);
    float scale() const;

    void convolve();
    void convolve_steps();
    void normalise_channels();
    void scale_channels();
    void activate();
    void apply_formula();
    void apply_neutral();
    void combine();
    void combine_constant();
    void reshape();
    void flatten();
    void change_axes();
    void transpose();
    void concat();
    void split();
    void slice();
    void flip();
    void pad();
    void reduce();
    void normalise();
    void multiply();
    void multiply_constant();
    void attend();
    void pool();
    void move_steps();
    void broadcast();
    void shuffle();
    void take_channels();
    void join_pixels();
    void spread_channels();
    void repeat();
    void add_constant();
    void convert_to_half();

    Bytes genes_;
    Choices choices_;
    std::vector<bool>& refused_;
    bool is_symbolic_;
    std::vector<Value> values_;
    double largest_ = 1;
    size_t step_ = 0;
    unsigned constants_ = 0;
    bool has_steps_ = false, has_halves_ = false;
};

}  // namespace mge::fuzz
