// SPDX-License-Identifier: Apache-2.0
#pragma once
// NVIDIA's libraries beside the runtime, opened when somebody first asks for one. Who has such a library's
// functions in a table of decltype(&function) takes them from here.

#include <string>

namespace mge::cuda {

class Library {
public:
    // Looks for the file where the system looks (LD_LIBRARY_PATH, what the process has opened already), then
    // in the folders of NVIDIA's Python packages: nvidia/<package>/lib beside this library or the
    // interpreter.
    Library(const char* file, const char* package);

    // Empty when it is open and has had every function.
    const std::string& why_not() const { return why_not_; }
    // Takes the function of that name; where there is none the library counts as not opened.
    template <class Function>
    void take(Function& function, const char* name) {
        function = reinterpret_cast<Function>(find(name));
    }

private:
    void open_in_packages(const char* package);
    void* find(const char* name);

    std::string file_, why_not_;
    void* handle_ = nullptr;
};

// Of those that are found: ", cuBLASLt 130100, cuDNN 91900". Opens them, which takes up to a second: asked
// for by who keeps measured times of kernels, not by everybody who uses a GPU.
std::string library_versions();
// As cuDNN counts; 0 where none is found.
int cudnn_version();

}  // namespace mge::cuda
