// SPDX-License-Identifier: Apache-2.0
// What an eager call costs beside its kernel is paid once, however many different calls a step has.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "libmge/device/device.h"
#include "libmge/op/apply.h"
#include "libmge/op/define.h"

namespace mge {
namespace {

int planned = 0;

// A view, which counts how often it is planned.
struct Counted {
    static constexpr auto name = "counted";
    static constexpr auto doc = "Gives x.";
    static constexpr auto inputs = names("x");
    static constexpr auto outputs = output_names("y");
    static constexpr OpTraits traits{.view = true};
    using Params = NoParams;
    static constexpr auto fields = no_fields;
    static constexpr bool stops_gradient = true;
    static TensorSpecs infer(const NoParams&, std::span<const TensorSpec> in) {
        ++planned;
        return {in[0]};
    }
    static const OpInfo info;
};
constinit const OpInfo Counted::info = define<Counted>();

// Extents without an order, so that hashes of shapes meet as those of a net do.
void apply_to_shapes(int64_t count) {
    std::minstd_rand random;
    const NoParams params{};
    for (int64_t i = 0; i < count; ++i) {
        auto rows = int64_t(random() % 64 + 1), columns = int64_t(random() % 64 + 1);
        Tensor x = empty_tensor({DType::f32, {i + 1, rows, columns}, {}}, host_device);
        apply_one(Counted::info, &params, {&x, 1});
    }
}

TEST(EagerPlans, AreKeptForAllCallsOfAStep) {
    static constexpr int calls = 500;
    // Plans are a thread's own: this one has none of other tests.
    std::thread([] {
        planned = 0;
        apply_to_shapes(calls);
        EXPECT_EQ(planned, calls);
        apply_to_shapes(calls);
        EXPECT_EQ(planned, calls);
    }).join();
}

TEST(EagerPlans, AreGivenUpWhereTheyAreTooMany) {
    static constexpr int calls = 5'000;
    std::thread([] {
        planned = 0;
        apply_to_shapes(calls);
        apply_to_shapes(calls);
        EXPECT_GT(planned, calls);
        EXPECT_LE(planned, 2 * calls);
    }).join();
}

}  // namespace
}  // namespace mge
