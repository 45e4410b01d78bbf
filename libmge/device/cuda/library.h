// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loads NVIDIA's libraries other than the runtime at their first use, into tables of decltype(&function).

#include <string>

namespace mge::cuda {

class Library {
public:
    // Searches as dlopen() does, then in NVIDIA's Python packages: nvidia/<package>/lib beside this library
    // or in the interpreter's site-packages.
    Library(const char* file, const char* package);

    // Empty if the library was opened and had all functions.
    const std::string& why_not() const { return why_not_; }
    // Loads a function by name. If it is missing, the library counts as not opened.
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

// Returns the versions of the libraries found: ", cuBLASLt 130100, cuDNN 91900". Opens them, which takes up
// to a second, so call it only to store measured kernel times.
std::string library_versions();
// Returns the version as cuDNN counts it, or 0 if cuDNN is missing.
int cudnn_version();

}  // namespace mge::cuda
