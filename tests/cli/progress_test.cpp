// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/output/progress.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>

#include "apps/cli/output/terminal.h"

namespace mge::cli {
namespace {

using namespace std::chrono_literals;

// A terminal in the place of stderr.
class Terminal {
public:
    Terminal() {
        EXPECT_EQ(::openpty(&terminal_, &program_, nullptr, nullptr, nullptr), 0);
        ::fcntl(terminal_, F_SETFL, O_NONBLOCK);
        original_ = ::dup(2);
        ::dup2(program_, 2);
    }
    ~Terminal() {
        ::dup2(original_, 2);
        for (int file : {original_, terminal_, program_}) ::close(file);
    }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    // All that was written so far.
    const std::string& shown() {
        std::array<char, 4096> buffer;
        for (ssize_t n; (n = ::read(terminal_, buffer.data(), buffer.size())) > 0;)
            shown_.append(buffer.data(), size_t(n));
        return shown_;
    }
    // Waits for a thread to write it, for as long as the test may take.
    void wait_for(const std::string& text) {
        pollfd more{.fd = terminal_, .events = POLLIN, .revents = 0};
        while (shown().find(text) == shown_.npos) ::poll(&more, 1, -1);
    }

private:
    int terminal_ = -1, program_ = -1, original_ = -1;
    std::string shown_;
};

// Time passes when a test says so.
class StoppedClock : public testing::Test {
protected:
    void SetUp() override { ProgressClock::stop(); }
    void TearDown() override { ProgressClock::go_on(); }
};
class ProgressTest : public StoppedClock {};
class ActivityTest : public StoppedClock {};

// Returns the output of `work` on stderr while stderr is a terminal.
template <class Work>
std::string shown_on_terminal(Work work) {
    Terminal terminal;
    work();
    return terminal.shown();
}

void work_for(std::chrono::milliseconds time) {
    Progress progress("parts", 40);
    progress.advance(10);
    ProgressClock::advance(time);
    progress.advance(10, "the second");
}

TEST_F(ProgressTest, IsShownOnATerminalAfterASecondAndWiped) {
    std::string shown = shown_on_terminal([] { work_for(1100ms); });
    EXPECT_THAT(shown, testing::HasSubstr("parts 20/40 (50 %, 1 s left) the second"));
    EXPECT_TRUE(shown.ends_with("\r\033[K")) << shown;
}

TEST_F(ProgressTest, ShortWorkShowsNothing) {
    EXPECT_EQ(shown_on_terminal([] { work_for(990ms); }), "");
}

TEST_F(ProgressTest, IsNotShownWhenDisabled) {
    allow_terminal(false, true);
    EXPECT_EQ(shown_on_terminal([] { work_for(1100ms); }), "");
    allow_terminal(true, true);
}

TEST_F(ProgressTest, IsNotShownInAFile) {
    testing::internal::CaptureStderr();
    work_for(1100ms);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(ProgressTest, IsTruncatedToTheTerminal) {
    std::string shown = shown_on_terminal([] {
        winsize narrow{.ws_row = 24, .ws_col = 20, .ws_xpixel = 0, .ws_ypixel = 0};
        ::ioctl(2, TIOCSWINSZ, &narrow);
        work_for(1100ms);
    });
    EXPECT_THAT(shown, testing::StartsWith("\rparts 20/40 (50 %, \033[K"));
}

TEST_F(ProgressTest, ShowsLibraryMessages) {
    std::string shown = shown_on_terminal([] {
        Progress progress("measuring", 0);
        auto observer = progress.observer("net.mge");
        observer({"comparing layouts", 0, 10, "conv2d"});
        ProgressClock::advance(1100ms);
        observer({"comparing layouts", 5, 10, "matmul"});
    });
    EXPECT_THAT(shown, testing::HasSubstr("net.mge: comparing layouts 5/10 (50 %, 1 s left) matmul"));
}

TEST_F(ProgressTest, IsClearedForOtherLines) {
    std::string shown = shown_on_terminal([] {
        Progress progress("parts", 4);
        ProgressClock::advance(1100ms);
        progress.advance();
        print_note("a note");
    });
    EXPECT_THAT(shown, testing::HasSubstr("\r\033[Ka note"));
}

TEST_F(ActivityTest, ShowsActivityAndElapsedTime) {
    Terminal terminal;
    {
        Activity activity("reading");
        ProgressClock::advance(1500ms);
        terminal.wait_for("reading, 1 s");
        activity.now("sorting");
        ProgressClock::advance(2000ms);
        terminal.wait_for("sorting, 2 s");
    }
    EXPECT_TRUE(terminal.shown().ends_with("\r\033[K")) << terminal.shown();
}

TEST_F(ActivityTest, IsSilentDuringProgressAndForShortWork) {
    EXPECT_EQ(shown_on_terminal([] {
                  Activity activity("reading");
                  Progress progress("parts", 4);
                  ProgressClock::advance(1500ms);
              }),
              "");
    EXPECT_EQ(shown_on_terminal([] {
                  Activity activity("reading");
                  for (int i = 0; i < 4; ++i) {
                      ProgressClock::advance(400ms);
                      activity.now("something else");
                  }
              }),
              "");
}

}  // namespace
}  // namespace mge::cli
