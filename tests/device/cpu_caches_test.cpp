// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/cpu/cpu_caches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/new_folder.h"

namespace mge {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class CpuCaches : public testing::Test {
protected:
    NewFolder folder_{"mge_caches"};
    void add(const char* index, const char* level, const char* type, const char* size, const char* map) {
        std::filesystem::create_directory(folder_.file(index));
        auto write = [&](const char* name, const char* text) {
            std::ofstream(folder_.file(index) + '/' + name) << text << '\n';
        };
        write("level", level);
        write("type", type);
        write("size", size);
        write("shared_cpu_map", map);
    }
    std::vector<CpuCache> found() { return cpu_caches(folder_.file("")); }
};

TEST_F(CpuCaches, AreThoseThatHoldData) {
    add("index0", "1", "Instruction", "32K", "1");
    add("index1", "3", "Unified", "32M", "00000000,000000ff");
    add("index2", "1", "Data", "48K", "00000000,00000001");
    add("index3", "2", "Unified", "2048K", "c");
    EXPECT_THAT(found(),
                ElementsAre(CpuCache{1, 48 << 10, 1}, CpuCache{2, 2 << 20, 2}, CpuCache{3, 32 << 20, 8}));
}

TEST_F(CpuCaches, AreUnknownWithoutADescription) {
    EXPECT_THAT(found(), IsEmpty());
    add("index0", "x", "Data", "48K", "1");
    add("index1", "1", "Data", "many", "1");
    add("index2", "2", "Unified", "", "");
    EXPECT_THAT(found(), IsEmpty());
}

}  // namespace
}  // namespace mge
