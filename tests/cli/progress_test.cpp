// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/progress.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
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

TEST(Progress, IsCutToTheWidthOfTheTerminal) {
    std::string shown = shown_on_terminal([] {
        winsize narrow{.ws_row = 24, .ws_col = 20, .ws_xpixel = 0, .ws_ypixel = 0};
        ::ioctl(2, TIOCSWINSZ, &narrow);
        work_for(1100ms);
    });
    EXPECT_THAT(shown, testing::StartsWith("\rparts 20/40 (50 %, \033[K"));
}

TEST(Progress, ShowsWhatTheLibraryTells) {
    std::string shown = shown_on_terminal([] {
        Progress progress("measuring", 0);
        auto observer = progress.observer("net.mge");
        observer({"comparing layouts", 0, 10, "conv2d"});
        std::this_thread::sleep_for(1100ms);
        observer({"comparing layouts", 5, 10, "matmul"});
    });
    EXPECT_THAT(shown, testing::HasSubstr("net.mge: comparing layouts 5/10 (50 %, 1 s left) matmul"));
}

TEST(Progress, GivesWayToOtherLines) {
    std::string shown = shown_on_terminal([] {
        Progress progress("parts", 4);
        std::this_thread::sleep_for(1100ms);
        progress.advance();
        print_note("a note");
    });
    EXPECT_THAT(shown, testing::HasSubstr("\r\033[Ka note"));
}

TEST(Activity, TellsWhatIsDoneAndForHowLong) {
    std::string shown = shown_on_terminal([] {
        Activity activity("reading");
        std::this_thread::sleep_for(1500ms);
    });
    EXPECT_THAT(shown, testing::HasSubstr("reading, 1 s"));
    EXPECT_TRUE(shown.ends_with("\r\033[K")) << shown;
}

TEST(Activity, IsSilentBesideProgressAndForShortWork) {
    EXPECT_EQ(shown_on_terminal([] {
                  Activity activity("reading");
                  Progress progress("parts", 4);
                  std::this_thread::sleep_for(1500ms);
              }),
              "");
    EXPECT_EQ(shown_on_terminal([] {
                  Activity activity("reading");
                  for (int i = 0; i < 4; ++i) {
                      std::this_thread::sleep_for(400ms);
                      activity.now("something else");
                  }
              }),
              "");
}

}  // namespace
}  // namespace mge::cli
