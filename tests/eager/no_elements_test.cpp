// SPDX-License-Identifier: Apache-2.0
// Tensors without an element may have other extents of any length: 10^12 rows of nothing take no memory. No
// operator may take time for them.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "libmge/base/error.h"
#include "libmge/device/device.h"
#include "libmge/op/apply.h"
#include "libmge/op/op.h"
#include "libmge/ops/all.h"

namespace mge {
namespace {

// A loop over it takes minutes, even if it does nothing.
constexpr int64_t endless = int64_t(1) << 40;
// Far from what a call takes on the busiest machine, and from what walking takes.
constexpr unsigned most_seconds = 60;
constexpr int64_t few = 4096;

constexpr size_t most_name = 200;
char at_work[most_name];

// Says which call takes for ever, and ends the test: nothing else ends the call.
extern "C" void report_hang(int) {
    constexpr char message[] = "this takes for ever: ";
    (void)!::write(STDERR_FILENO, message, sizeof message - 1);
    (void)!::write(STDERR_FILENO, at_work, std::strlen(at_work));
    (void)!::write(STDERR_FILENO, "\n", 1);
    ::_exit(1);
}

bool are_few(Specs specs) {
    int64_t all = 0;
    for (auto& spec : specs) {
        if (!spec.shape.is_known()) continue;
        if (spec.shape.numel() > few) return false;
        all += spec.shape.numel();
    }
    return all <= few;
}

// Results of more elements than `few` are refused by who allocates them, or take their time rightly.
bool gives_little(const OpInfo& op, const void* params, const Tensors& inputs) {
    TensorSpecs specs;
    for (auto& input : inputs) specs.push_back(input.spec());
    return are_few(op.infer(params, specs));
}

TEST(NoElements, NoOperatorIteratesOverOtherExtents) {
    struct sigaction action = {}, before = {};
    action.sa_handler = report_hang;
    ASSERT_EQ(::sigaction(SIGALRM, &action, &before), 0);
    int computed = 0;
    const Shape shapes[] = {{0},
                            {endless, 0},
                            {0, endless},
                            {endless, 0, 2},
                            {0, endless, 2},
                            {0, 2, endless},
                            {endless, 2, 0, 2},
                            {2, endless, 0, 2},
                            {2, 2, 0, endless},
                            {0, 2, 2, endless},
                            {2, 0, 2, endless}};
    for (auto* op : all_ops())
        for (auto& shape : shapes)
            for (DType dtype : {DType::f32, DType::f16, DType::i32, DType::boolean}) {
                size_t count = op->fixed_inputs() + (op->is_variadic() ? 2 : 0);
                if (count == 0 || op->traits.control) continue;
                std::string name = text(op->name, ' ', dtype, shape);
                std::strncpy(at_work, name.c_str(), most_name - 1);
                ::alarm(most_seconds);
                try {
                    Tensors inputs(count, empty_tensor({dtype, shape, {}}, host_device));
                    auto params = op->params.make();
                    if (!gives_little(*op, params.get(), inputs)) continue;
                    mge::apply(*op, params.get(), inputs);
                    ++computed;
                } catch (const InternalError& e) {
                    ADD_FAILURE() << name << ": " << e.what();
                } catch (const Error&) {
                }
            }
    ::alarm(0);
    ::sigaction(SIGALRM, &before, nullptr);
    EXPECT_GT(computed, 1000);
}

}  // namespace
}  // namespace mge
