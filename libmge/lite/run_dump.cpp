// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/run_dump.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "libmge/base/files/folder.h"
#include "libmge/base/text.h"
#include "lite/error.h"

namespace lite {

void RunDump::open_text(const std::string& path) {
    mge::make_folder(std::filesystem::path(path).parent_path());
    std::ofstream stream(path);
    if (!stream) throw Error(mge::text("cannot write '", path, "': ", std::strerror(errno)));
    path_ = path;
    sink_.reset();
    text_ = std::move(stream);
    sink_ = mge::text_dump(text_);
}

void RunDump::open_binary(const std::string& folder) {
    mge::make_folder(folder);
    sink_ = mge::binary_dump(folder);
}

void RunDump::flush() {
    if (!text_.is_open()) return;
    text_.flush();
    if (!text_) throw Error(mge::text("cannot write '", path_, "'"));
}

}  // namespace lite
