// SPDX-License-Identifier: Apache-2.0
// The n-th allocation fails while a program uses Lite, for every n: each function that cannot do its work
// says so, nothing is lost, and the same calls work afterwards.

#include <gtest/gtest.h>

#include <cstring>

#include "lite-c/global_c.h"
#include "tests/lite/networks.h"
#include "tests/out_of_memory/failing_allocations.h"

namespace mge::test {
namespace {

// False, and a message, when a call fails; then the rest is not called.
bool works(int code) {
    if (code == 0) return true;
    EXPECT_EQ(code, -1);
    EXPECT_GT(std::strlen(LITE_get_last_error()), std::strlen("Error: "));
    return false;
}

// A tensor that is given back at the end.
struct Held {
    LiteTensor tensor = nullptr;
    ~Held() { EXPECT_EQ(LITE_destroy_tensor(tensor), tensor ? 0 : -1); }
};

bool use_tensors() {
    LiteTensorDesc description = default_desc;
    description.layout = {{4, 6}, 2, LITE_FLOAT};
    Held tensor, part, copy, joined;
    size_t start[] = {0, 1}, end[] = {4, 3};
    int flat[] = {-1};
    void* memory = nullptr;
    bool all = works(LITE_make_tensor(description, &tensor.tensor)) &&
               works(LITE_tensor_fill_zero(tensor.tensor)) &&
               works(LITE_tensor_slice(tensor.tensor, start, end, nullptr, 2, &part.tensor)) &&
               works(LITE_make_tensor(default_desc, &copy.tensor)) &&
               works(LITE_tensor_copy(copy.tensor, part.tensor)) &&
               works(LITE_tensor_copy(part.tensor, copy.tensor)) && works(LITE_tensor_fill_zero(part.tensor));
    LiteTensor both[] = {copy.tensor, part.tensor};
    return all && works(LITE_tensor_concat(both, 2, 0, LITE_CPU, 0, &joined.tensor)) &&
           works(LITE_tensor_reshape(joined.tensor, flat, 1)) &&
           works(LITE_get_tensor_memory(joined.tensor, &memory)) &&
           works(LITE_reset_tensor_memory(joined.tensor, memory, 64)) &&
           works(LITE_make_tensor(default_desc, nullptr)) == false;
}

// Lets each allocation of the work fail in turn; how often it then said so.
int fail_each(bool (*work)()) {
    fail_allocation(0);
    EXPECT_TRUE(work());
    long count = stop_failing().seen;
    int failures = 0;
    for (long failing = 1; failing <= count; ++failing) {
        fail_allocation(failing);
        failures += !work();
        stop_failing();
    }
    LITE_clear_last_error();
    EXPECT_TRUE(work());
    return failures;
}

TEST(LiteInC, TensorsWithoutMemory) {
    ASSERT_TRUE(use_tensors());
    EXPECT_GT(fail_each(use_tensors), 20);
    // Objects kept for later exist now.
    long before = live_objects();
    fail_each(use_tensors);
    EXPECT_EQ(live_objects(), before);
}

// A network loads, runs, fails and runs again. Exceptions other than out-of-memory fail the test.
bool use_network() {
    static const std::vector<float> wanted{2, 4, 6, 8};
    std::vector<float> sum;
    try {
        lite::Network network;
        for (int round = 0; round < 2; ++round) {
            if (!round) network.load_model(lite::test::sum_and_difference());
            for (auto* name : {"a", "b"})
                lite::test::write<float>(*network.get_io_tensor(name), {1, 2, 3, 4});
            network.forward();
            network.wait();
        }
        sum = lite::test::output(network, "sum");
    } catch (const lite::Error&) {
        return false;
    } catch (const std::bad_alloc&) {
        return false;
    }
    EXPECT_EQ(sum, wanted);
    return true;
}

TEST(Lite, NetworksWithoutMemory) {
    ASSERT_TRUE(use_network());
    EXPECT_GT(fail_each(use_network), 100);
}

}  // namespace
}  // namespace mge::test
