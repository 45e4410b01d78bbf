// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/progress.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "apps/cli/terminal.h"

namespace mge::cli {
namespace {

using namespace std::chrono_literals;

// What `work` writes on stderr while stderr is a terminal.
template <class Work>
std::string shown_on_terminal(Work work) {
    int terminal = -1, program = -1;
    EXPECT_EQ(::openpty(&terminal, &program, nullptr, nullptr, nullptr), 0);
    ::fcntl(terminal, F_SETFL, O_NONBLOCK);
    int original = ::dup(2);
    ::dup2(program, 2);
    work();
    ::dup2(original, 2);
    ::close(original);
    std::array<char, 4096> buffer;
    std::string shown;
    for (ssize_t n; (n = ::read(terminal, buffer.data(), buffer.size())) > 0;)
        shown.append(buffer.data(), size_t(n));
    ::close(program);
    ::close(terminal);
    return shown;
}

void work_for(std::chrono::milliseconds time) {
    Progress progress("parts", 40);
    progress.advance(10);
    std::this_thread::sleep_for(time);
    progress.advance(10, "the second");
}

TEST(Progress, IsShownOnATerminalAfterASecondAndWiped) {
    std::string shown = shown_on_terminal([] { work_for(1100ms); });
    EXPECT_THAT(shown, testing::HasSubstr("parts 20/40 (50 %, 1 s left) the second"));
    EXPECT_TRUE(shown.ends_with("\r\033[K")) << shown;
}

TEST(Progress, ShortWorkShowsNothing) {
    EXPECT_EQ(shown_on_terminal([] { work_for(10ms); }), "");
}

TEST(Progress, IsNotShownWhenNobodyWantsIt) {
    allow_terminal(false, true);
    EXPECT_EQ(shown_on_terminal([] { work_for(1100ms); }), "");
    allow_terminal(true, true);
}

TEST(Progress, IsNotShownInAFile) {
    testing::internal::CaptureStderr();
    work_for(1100ms);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace mge::cli
