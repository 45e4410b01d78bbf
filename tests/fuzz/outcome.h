// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "libmge/base/error.h"
#include "tests/fuzz/target.h"

namespace mge::fuzz {

// The outcome of an input: accepted, or refused with the code of its error.
struct Outcome {
    std::optional<ErrorCode> refusal;
};
// Ends the process with a message when it is a finding.
Outcome outcome_of(Bytes input);

}  // namespace mge::fuzz
