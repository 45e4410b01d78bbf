// SPDX-License-Identifier: Apache-2.0
// The first GPU as the harness's other device, and the program around the tests.
#include <gmock/gmock.h>

#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "libmge/base/env.h"
#include "libmge/device/device.h"
#include "libmge/device/gpu.h"
#include "tests/harness/other_device.h"

extern "C" void mge_add_cuda_backend();

namespace mge::test {

namespace {

// For each operator its algorithms, families by their name, with the dtypes that they have computed.
using Ran = std::map<std::string, std::map<std::string, std::set<DType>>>;
Ran& ran_algorithms() {
    static Ran ran;
    return ran;
}
void note(const OpInfo& op, std::string_view candidate, DType dtype) {
    std::string algorithm(candidate.substr(0, candidate.find(':')));
    if (algorithm.size() < candidate.size()) algorithm += ":…";
    ran_algorithms()[std::string(op.name)][algorithm].insert(dtype);
}

void write_ran_algorithms(const std::string& path) {
    std::ofstream file(path);
    for (auto& [op, algorithms] : ran_algorithms())
        for (auto& [algorithm, dtypes] : algorithms)
            for (DType dtype : dtypes) file << op << '\t' << algorithm << '\t' << dtype << '\n';
}

}  // namespace

const OtherDevice& other_device() {
    static const OtherDevice device{parse_device("gpu0"), "the GPU", true, note};
    return device;
}

}  // namespace mge::test

int main(int argc, char** argv) {
    testing::InitGoogleMock(&argc, argv);
    mge_add_cuda_backend();
    if (mge::gpus().count == 0) {
        std::cout << "Skipped: " << mge::gpus().why_unavailable << '\n';
        return 77;
    }
    std::cout << "On " << mge::device(mge::test::other_device().id).model() << '\n';
    int failed = RUN_ALL_TESTS();
    // For docs/data/gpu_dtypes.tsv (scripts/make_cuda_table.py).
    if (auto path = mge::env_string("MGE_CUDA_RAN")) mge::test::write_ran_algorithms(*path);
    return failed;
}
