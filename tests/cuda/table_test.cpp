// SPDX-License-Identifier: Apache-2.0
// Two files that list facts of the GPU: algorithms of operators, for their reference, and tests.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "libmge/ops/all.h"
#include "tests/harness/other_device.h"

namespace mge::test {
namespace {

std::string read_file(const std::string& name) {
    std::ostringstream content;
    content << std::ifstream(MGE_SOURCE_FOLDER "/docs/" + name).rdbuf();
    return content.str();
}

template <class... O>
std::vector<const OpInfo*> infos_of(TypeList<O...>) {
    return {&O::info...};
}

// "tiled, split_sums"; families are listed with their candidates, as "cudnn:…".
std::string algorithms_of(const OpInfo& op) {
    std::string names;
    for (auto& algorithm : find_kernels(op, other_device().id))
        names += text(names.empty() ? "" : ", ", algorithm.name,
                      std::string_view(algorithm.name).starts_with("cu") ? ":…" : "");
    return names;
}

// Operators in alphabetical order, each with its algorithms in order of preference.
std::string table() {
    std::map<std::string_view, std::string> rows;
    for (auto* op : infos_of(AllOps{}))
        if (!op->traits.of_every_device) rows[op->name] = is_there(*op) ? algorithms_of(*op) : "none";
    std::string lines = "operator\talgorithms\n";
    for (auto& [name, algorithms] : rows) lines += text(name, '\t', algorithms, '\n');
    return lines;
}

TEST(CudaTable, MatchesTheReference) {
    EXPECT_EQ(read_file("data/gpu_algorithms.tsv"), table()) << "docs/data/gpu_algorithms.tsv should be:\n"
                                                             << table();
}

// "`Suite.Test`" is one of this program.
TEST(CudaTable, NamesExistingTests) {
    auto* all = testing::UnitTest::GetInstance();
    std::set<std::string> known;
    for (int i = 0; i < all->total_test_suite_count(); ++i) {
        auto* suite = all->GetTestSuite(i);
        for (int j = 0; j < suite->total_test_count(); ++j)
            known.insert(text(suite->name(), '.', suite->GetTestInfo(j)->name()));
    }
    std::string content = read_file("contributing/gpu-tests.md");
    std::regex name("`([A-Z][A-Za-z]+\\.[A-Z][A-Za-z]+)`");
    int found = 0;
    for (std::sregex_iterator at(content.begin(), content.end(), name), end; at != end; ++at, ++found)
        EXPECT_TRUE(known.contains((*at)[1])) << (*at)[1];
    EXPECT_GT(found, 10);
}

}  // namespace
}  // namespace mge::test
