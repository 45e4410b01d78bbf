// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds operators that run at once and change what they only read. Each input on the host is summed up before
// an operator and behind it; memory that an operator writes its results to is left out.

#include <mutex>
#include <string>
#include <vector>

#include "libmge/eager/operator_observer.h"

namespace mge {

// For all threads; one search at a time, a second start begins anew. An operator recorder beside it is not
// told.
class MGE_API ChangedInputs final : public OperatorObserver {
public:
    void start();
    // A line for each input that was found: "input 1 of add has changed".
    std::vector<std::string> stop();
    std::vector<uint64_t> before(std::span<const Tensor> inputs, std::span<const Tensor> outputs) override;
    void ran(const OperatorRun& run) override;

private:
    std::mutex mutex_;
    std::vector<std::string> found_;
};

// The only one.
MGE_API ChangedInputs& changed_inputs();

}  // namespace mge
