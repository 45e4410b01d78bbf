// SPDX-License-Identifier: Apache-2.0
#pragma once
// A .mge model with test cases behind it, in the container that MegEngine's scripts write: "mgbtest0", the
// number of test cases, the model, then one model of constants per test case. The constants are the values of
// the model's inputs, sorted by the inputs' names.

#include <functional>

#include "libmge/model/open.h"

namespace mge {

bool is_test_container(std::span<const std::byte> bytes);

// `read` reads one of the .mge models.
Model read_test_container(const ModelBytes& file, const std::function<Model(const ModelBytes&)>& read);

}  // namespace mge
