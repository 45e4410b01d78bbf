// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/progress.h"

#include <cstdio>

#include "apps/cli/terminal.h"
#include "libmge/base/error.h"

namespace mge::cli {
namespace {

using namespace std::chrono_literals;
constexpr std::chrono::milliseconds quiet_time = 1s, redraw_time = 100ms;
constexpr size_t widest_line = 78;

}  // namespace

Progress::Progress(std::string what, size_t total)
    : what_(std::move(what)), total_(total), wanted_(shows_progress()) {}

Progress::~Progress() {
    if (shown_) std::fputs("\r\033[K", stderr);
}

void Progress::advance(size_t steps, const std::string& note) {
    done_ += steps;
    auto now = Clock::now();
    if (!wanted_ || now - start_ < quiet_time || now - drawn_ < redraw_time) return;
    drawn_ = now;
    shown_ = true;
    std::string line = text(what_, ' ', done_);
    if (total_) {
        double elapsed = std::chrono::duration<double>(now - start_).count();
        double left = done_ ? elapsed / double(done_) * double(total_ - std::min(done_, total_)) : 0;
        line += text('/', total_, " (", 100 * done_ / total_, " %, ", int64_t(left + 0.5), " s left)");
    }
    if (!note.empty()) line += " " + note;
    std::fprintf(stderr, "\r%s\033[K", line.substr(0, widest_line).c_str());
}

}  // namespace mge::cli
