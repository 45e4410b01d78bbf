// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/cgroup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "libmge/base/error.h"
#include "libmge/base/threads/threads.h"
#include "tests/new_folder.h"

namespace mge {
namespace {

namespace fs = std::filesystem;

// A made-up machine: its /proc and /sys are in a folder.
class Cgroups : public testing::Test {
protected:
    fs::path root_ = new_folder("mge_cgroup");
    void TearDown() override { fs::remove_all(root_); }

    void write(const std::string& path, const std::string& content) {
        fs::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << content << '\n';
    }
    void process_is_in(const std::string& groups) { write("proc/self/cgroup", groups); }
    void mounts_are(const std::string& mounts) { write("proc/self/mountinfo", mounts); }
    void v1_quota(const std::string& group, long quota, long period = 100'000) {
        write(group + "/cpu.cfs_quota_us", std::to_string(quota));
        write(group + "/cpu.cfs_period_us", std::to_string(period));
    }
    // "0.5 in FOLDER"; "none".
    std::string quota() const {
        auto found = cpu_quota(root_.string());
        return found ? text(found->cpus, " in ", found->group) : "none";
    }
    std::string memory() const {
        auto found = memory_limit_of_groups(root_.string());
        return found ? text(found->bytes, " in ", found->group) : "none";
    }
};

constexpr auto v1_mounts =
    "23 1 0:22 / /proc rw - proc proc rw\n"
    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:7 master:2 - cgroup cgroup rw,cpu,cpuacct\n"
    "34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw";
constexpr auto v2_mount = "31 23 0:28 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate";

TEST_F(Cgroups, NoFilesMeanNoLimit) {
    EXPECT_EQ(quota(), "none");
    EXPECT_EQ(memory(), "none");
    process_is_in("0::/a");
    mounts_are(v2_mount);
    EXPECT_EQ(quota(), "none");
    EXPECT_EQ(memory(), "none");
}

TEST_F(Cgroups, Version2UsesTheGroupOfTheProcess) {
    process_is_in("0::/system.slice/net.service");
    mounts_are(v2_mount);
    write("sys/fs/cgroup/system.slice/cpu.max", "max 100000");
    write("sys/fs/cgroup/system.slice/net.service/cpu.max", "50000 100000");
    write("sys/fs/cgroup/system.slice/other.service/cpu.max", "1000 100000");
    write("sys/fs/cgroup/system.slice/memory.max", "1073741824");
    write("sys/fs/cgroup/system.slice/net.service/memory.max", "max");
    EXPECT_EQ(quota(), "0.5 in /sys/fs/cgroup/system.slice/net.service");
    EXPECT_EQ(memory(), "1073741824 in /sys/fs/cgroup/system.slice");
    write("sys/fs/cgroup/system.slice/memory.current", "3000000");
    write("sys/fs/cgroup/system.slice/memory.stat", "anon 100\ninactive_file 1000000");
    EXPECT_EQ(memory_limit_of_groups(root_.string())->used, 2000000u);
}

TEST_F(Cgroups, SmallestLimitOfAllAncestorsApplies) {
    process_is_in("0::/a/b/c");
    mounts_are(v2_mount);
    write("sys/fs/cgroup/a/cpu.max", "150000 100000");
    write("sys/fs/cgroup/a/b/cpu.max", "30000 10000");
    write("sys/fs/cgroup/a/b/c/cpu.max", "400000 100000");
    EXPECT_EQ(quota(), "1.5 in /sys/fs/cgroup/a");
    write("sys/fs/cgroup/a/b/cpu.max", "12500 10000");
    EXPECT_EQ(quota(), "1.25 in /sys/fs/cgroup/a/b");
    write("sys/fs/cgroup/a/b/c/cpu.max", "20000 100000");
    EXPECT_EQ(quota(), "0.2 in /sys/fs/cgroup/a/b/c");
}

TEST_F(Cgroups, Version1UsesTheGroupOfTheProcess) {
    process_is_in("9:name=systemd:/\n5:memory:/m\n3:cpuset:/\n1:cpu,cpuacct:/one/half\n0::/elsewhere");
    mounts_are(v1_mounts);
    v1_quota("sys/fs/cgroup/cpu,cpuacct", -1);
    v1_quota("sys/fs/cgroup/cpu,cpuacct/one", 100'000);
    v1_quota("sys/fs/cgroup/cpu,cpuacct/one/half", 25'000, 50'000);
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
    EXPECT_EQ(quota(), "0.5 in /sys/fs/cgroup/cpu,cpuacct/one/half");
    EXPECT_EQ(memory(), "none");
    write("sys/fs/cgroup/memory/m/memory.limit_in_bytes", "67108864");
    EXPECT_EQ(memory(), "67108864 in /sys/fs/cgroup/memory/m");
    write("sys/fs/cgroup/memory/m/memory.usage_in_bytes", "5000000");
    write("sys/fs/cgroup/memory/m/memory.stat", "cache 900000\ninactive_file 1\ntotal_inactive_file 800000");
    EXPECT_EQ(memory_limit_of_groups(root_.string())->used, 4200000u);
}

TEST_F(Cgroups, ContainerGroupIsTheMountRoot) {
    // Without a cgroup namespace: the container's group is bound over the mount point, paths are the host's.
    process_is_in("1:cpu,cpuacct:/docker/1a2b\n0::/");
    mounts_are("32 31 0:29 /docker/1a2b /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct");
    v1_quota("sys/fs/cgroup/cpu", 150'000);
    EXPECT_EQ(quota(), "1.5 in /sys/fs/cgroup/cpu");
    // Its own groups inside.
    process_is_in("1:cpu,cpuacct:/docker/1a2b/in");
    v1_quota("sys/fs/cgroup/cpu/in", 50'000);
    EXPECT_EQ(quota(), "0.5 in /sys/fs/cgroup/cpu/in");
    // A group whose name only begins like the mount's.
    process_is_in("1:cpu,cpuacct:/docker/1a2b3c");
    EXPECT_EQ(quota(), "1.5 in /sys/fs/cgroup/cpu");
    // With one: both are "/".
    process_is_in("0::/");
    mounts_are(v2_mount);
    write("sys/fs/cgroup/cpu.max", "75000 100000");
    EXPECT_EQ(quota(), "0.75 in /sys/fs/cgroup");
}

TEST_F(Cgroups, OutsideANamespaceTheMountIsUsed) {
    write("sys/fs/cgroup/cpu.max", "75000 100000");
    mounts_are(v2_mount);
    process_is_in("0::/../moved");
    EXPECT_EQ(quota(), "0.75 in /sys/fs/cgroup");
    process_is_in("0::/x");
    mounts_are("31 23 0:28 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
    EXPECT_EQ(quota(), "0.75 in /sys/fs/cgroup");
}

TEST_F(Cgroups, NamesWithBlanksAndColonsAreFound) {
    process_is_in("0::/a b:c (deleted)");
    mounts_are("31 23 0:28 / /sys/fs/c\\040group rw - cgroup2 cgroup2 rw");
    write("sys/fs/c group/a b:c (deleted)/cpu.max", "50000 100000");
    EXPECT_EQ(quota(), "0.5 in /sys/fs/c group/a b:c (deleted)");
}

TEST_F(Cgroups, UnparsableFilesMeanNoLimit) {
    process_is_in("0::/a");
    for (const char* mounts :
         {"", "-", "a b c - cgroup2", "1 2 3 4 5 6 - cgroup2 x", "1 2 3 / /x rw - - - -"}) {
        mounts_are(mounts);
        EXPECT_EQ(quota(), "none") << mounts;
    }
    mounts_are(v2_mount);
    for (const char* limit : {"", "max", "max max", "x 100000", "100000", "0 100000", "-1 100000", "50000 0",
                              "50000 -1", "nan 100000", "1 2 3", "50000x 100000"}) {
        write("sys/fs/cgroup/a/cpu.max", limit);
        write("sys/fs/cgroup/a/memory.max", limit);
        EXPECT_EQ(quota(), "none") << limit;
    }
    for (const char* groups : {"", "0", "0:", "::", "x", "0:/a"}) {
        write("sys/fs/cgroup/a/cpu.max", "50000 100000");
        process_is_in(groups);
        EXPECT_EQ(quota(), "none") << groups;
    }
}

// The result of a child process in a group of its own with this quota; its exit status then is the
// quota in percent. The group is made below the one that this process is in.
TEST(RealCgroups, FindsQuotaOfThisMachine) {
    fs::path parent;
    for (const char* folder : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"})
        if (fs::exists(fs::path(folder) / "cpu.cfs_quota_us")) parent = folder;
    if (parent.empty()) GTEST_SKIP() << "the controller 'cpu' is not mounted as a cgroup v1 hierarchy";
    fs::path outer = parent / ("mge_test_" + std::to_string(::getpid())), inner = outer / "inner";
    std::error_code error;
    fs::create_directory(outer, error);
    if (error) GTEST_SKIP() << "no cgroup can be made in " << parent << ": " << error.message();
    fs::create_directory(inner, error);
    auto set_quota = [](const fs::path& group, int microseconds) {
        std::ofstream file(group / "cpu.cfs_quota_us");
        return !!(file << microseconds << std::flush);
    };
    if (!set_quota(outer, 150'000) || !set_quota(inner, 50'000)) {
        fs::remove(inner, error);
        fs::remove(outer, error);
        GTEST_SKIP() << "ancestor groups have a lower limit";
    }
    auto percent_in = [](const fs::path& group) {
        pid_t child = ::fork();
        if (child == 0) {
            std::ofstream(group / "cgroup.procs") << ::getpid() << std::flush;
            auto quota = cpu_quota();
            ::_exit(quota && quota->group == group ? int(std::lround(100 * quota->cpus)) : 255);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    };
    EXPECT_EQ(percent_in(outer), 150);
    EXPECT_EQ(percent_in(inner), 50);
    fs::remove(inner);
    fs::remove(outer);
}

TEST(UsableCpus, AreAtMostTheExistingOnes) {
    EXPECT_GE(usable_cpus(), 1);
    if (auto quota = cpu_quota()) {
        EXPECT_LE(usable_cpus(), std::max(1.0, std::ceil(quota->cpus)));
    }
}

}  // namespace
}  // namespace mge
