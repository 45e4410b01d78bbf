// SPDX-License-Identifier: Apache-2.0
// A source of its own, so that a program with another definition does not link this one.
#include "tests/harness/other_device.h"

#include "tests/shadow/shadow_device.h"

namespace mge::test {

const OtherDevice& other_device() {
    static const OtherDevice device{shadow_device(), "the shadow device", false};
    return device;
}

}  // namespace mge::test
