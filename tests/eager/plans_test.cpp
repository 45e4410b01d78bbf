// SPDX-License-Identifier: Apache-2.0
// The overhead of an eager call is paid once, however many different calls a step has.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <thread>

#include "libmge/device/device.h"
#include "libmge/kernel/algorithm.h"
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"
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
    static TensorSpecs infer(const NoParams&, Specs in) {
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

constexpr int too_many = 5'000;

int prepared = 0;
bool is_kept = false;
std::weak_ptr<int> prepared_state;

// Applies others while it runs, as operators do that hold graphs: so many that no plan stays that may go.
struct Crowding {
    static constexpr auto name = "crowding";
    static constexpr auto doc = "Gives x, and applies others meanwhile.";
    static constexpr auto inputs = names("x");
    static constexpr auto outputs = output_names("y");
    static constexpr OpTraits traits{.control = true};
    using Params = NoParams;
    static constexpr auto fields = no_fields;
    static constexpr bool stops_gradient = true;
    static TensorSpecs infer(const NoParams&, Specs in) { return {in[0]}; }
    static const OpInfo info;
};
constinit const OpInfo Crowding::info = define<Crowding>();

struct CrowdingState {
    std::shared_ptr<int> of_plan;
};
Prepared prepare_crowding(const PrepareContext&) {
    ++prepared;
    auto of_plan = std::make_shared<int>();
    prepared_state = of_plan;
    return Prepared::make(CrowdingState{std::move(of_plan)});
}
void run_crowding(const Prepared&, const Launch& launch) {
    apply_to_shapes(too_many);
    is_kept = !prepared_state.expired();
    launch.out<float>(0)[0] = launch.in<float>(0)[0];
}
constexpr Algorithm crowding[] = {{"crowding", always, prepare_crowding, run_crowding}};
constexpr KernelEntry kernels_of_crowding[] = {{&Crowding::info, +[] { return KernelList(crowding); }}};

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

TEST(EagerPlans, AreEvictedBeyondTheLimit) {
    static constexpr int calls = too_many;
    std::thread([] {
        planned = 0;
        apply_to_shapes(calls);
        apply_to_shapes(calls);
        EXPECT_GT(planned, calls);
        EXPECT_LE(planned, 2 * calls);
    }).join();
}

TEST(EagerPlans, AreNotEvictedWhileRunning) {
    add_kernels(host_device.kind, kernels_of_crowding);
    std::thread([] {
        prepared = 0;
        const NoParams none;
        for (float value : {3.0f, 4.0f}) {
            Tensor x = tensor_from_host({DType::f32, {1}, {}}, &value, host_device);
            Tensor y = apply_one(Crowding::info, &none, {&x, 1});
            EXPECT_TRUE(is_kept);
            EXPECT_EQ(*static_cast<const float*>(y.address()), value);
        }
        EXPECT_EQ(prepared, 1);
    }).join();
}

}  // namespace
}  // namespace mge
