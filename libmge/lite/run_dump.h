// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fstream>
#include <memory>
#include <string>

#include "libmge/inspect/io_dump/io_dump.h"

namespace lite {

// The file for the values of a network's runs; opened once.
class RunDump {
public:
    // A file, written anew. Error when it cannot be made.
    void open_text(const std::string& path);
    // A folder, which is made with those around it.
    void open_binary(const std::string& folder);
    mge::IoDumpSink* sink() const { return sink_.get(); }
    // After a run: all data is in the file. Error if it could not be written.
    void flush();

private:
    std::string path_;
    std::ofstream text_;
    std::unique_ptr<mge::IoDumpSink> sink_;
};

}  // namespace lite
