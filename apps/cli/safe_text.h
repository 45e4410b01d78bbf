// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <streambuf>
#include <string>

namespace mge::cli {

// The door to the terminal: what tools print goes through it, and comes out with everything that terminals
// would obey as \x1b, \u202e …, but for ends of lines, tabs and the colours of paint(). Names of strangers
// need no care where they are printed.
class SafeText : public std::streambuf {
public:
    explicit SafeText(std::streambuf* target) : target_(target) {}
    ~SafeText() override { sync(); }

protected:
    int overflow(int c) override;
    std::streamsize xsputn(const char* data, std::streamsize n) override;
    int sync() override;

private:
    bool pass_on(size_t count);
    std::streambuf* target_;
    std::string waiting_;  // for the end of its line: a character of several bytes may come in parts
};

}  // namespace mge::cli
