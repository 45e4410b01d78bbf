// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/secret_prompt.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "apps/cli/output/progress.h"
#include "apps/cli/tool.h"
#include "libmge/model/crypt/crypto_error.h"

namespace mge::cli {
namespace {

constexpr size_t longest_line = 1024;
constexpr char interrupt = '\x03', end_of_input = '\x04', backspace = '\x7f';
// The exit code that shells report for an interrupted program.
constexpr int interrupted_code = 130;

// Reads single characters without signals, so that an interrupt cannot leave echo disabled.
class QuietTerminal {
public:
    explicit QuietTerminal(int fd) : fd_(fd) {
        ::tcgetattr(fd_, &saved_);
        termios quiet = saved_;
        quiet.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG);
        quiet.c_cc[VMIN] = 1;
        quiet.c_cc[VTIME] = 0;
        ::tcsetattr(fd_, TCSAFLUSH, &quiet);
    }
    ~QuietTerminal() {
        ::tcsetattr(fd_, TCSAFLUSH, &saved_);
        write_line("\n");
        ::close(fd_);
    }
    void write_line(const std::string& line) {
        [[maybe_unused]] auto written = ::write(fd_, line.data(), line.size());
    }
    char next() {
        char c = end_of_input;
        while (::read(fd_, &c, 1) < 0 && errno == EINTR) {
        }
        return c;
    }

private:
    int fd_;
    termios saved_{};
};

bool is_named_pipe(int descriptor) {
    struct stat info {};
    return ::fstat(descriptor, &info) == 0 && S_ISFIFO(info.st_mode);
}

void wait_for_input(int descriptor) {
    pollfd waiting{descriptor, POLLIN, 0};
    ::poll(&waiting, 1, -1);
}

}  // namespace

std::optional<SecretBytes> prompt_for_secret(const std::string& prompt) {
    int fd = ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return std::nullopt;
    Silence silence;
    QuietTerminal terminal(fd);
    terminal.write_line(prompt);
    SecretBytes line(longest_line);
    size_t length = 0;
    for (char c; (c = terminal.next()) != '\n' && c != '\r' && c != end_of_input;) {
        if (c == interrupt) throw Exit{interrupted_code};
        if (c == backspace || c == '\b')
            length -= length > 0;
        else if (length < longest_line)
            line.data()[length++] = std::byte(c);
    }
    line.shrink(length);
    return line;
}

SecretBytes read_secret(int descriptor, const std::string& where, size_t limit) {
    SecretBytes content(limit + 1);
    bool may_come = is_named_pipe(descriptor);
    auto patience_end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    size_t length = 0;
    while (length <= limit) {
        ssize_t got = ::read(descriptor, content.data() + length, content.size() - length);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) {  // a writer exists
            wait_for_input(descriptor);
            continue;
        }
        if (got < 0) throw UserError(text("cannot read the key from ", where, ": ", std::strerror(errno)));
        if (got == 0 && length == 0 && may_come && std::chrono::steady_clock::now() < patience_end) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            continue;
        }
        if (got == 0 && length == 0 && may_come)
            throw UserError(text("cannot read the key from ", where, ": it is a pipe without a writer"));
        if (got == 0) break;
        length += size_t(got);
    }
    if (length > limit) throw CryptoError(text("the key in ", where, " is longer than ", limit, " bytes"));
    content.shrink(length);
    return content;
}

}  // namespace mge::cli
