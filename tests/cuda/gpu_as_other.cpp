// SPDX-License-Identifier: Apache-2.0
// The first GPU as the harness's other device, and the program around the tests.
#include <gmock/gmock.h>

#include <iostream>

#include "libmge/device/device.h"
#include "libmge/device/gpu.h"
#include "tests/harness/other_device.h"

extern "C" void mge_add_cuda_backend();

namespace mge::test {

const OtherDevice& other_device() {
    static const OtherDevice device{parse_device("gpu0"), "the GPU", true};
    return device;
}

}  // namespace mge::test

int main(int argc, char** argv) {
    testing::InitGoogleMock(&argc, argv);
    mge_add_cuda_backend();
    if (mge::gpus().count == 0) {
        std::cout << "Skipped: " << mge::gpus().why_none << '\n';
        return 77;
    }
    std::cout << "On " << mge::device(mge::test::other_device().id).model() << '\n';
    return RUN_ALL_TESTS();
}
