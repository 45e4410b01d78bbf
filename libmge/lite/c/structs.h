// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conversion between the structs of C and C++.

#include <string>
#include <vector>

#include "lite-c/global_c.h"
#include "lite/network.h"

namespace lite::c {

Layout layout_of(const LiteLayout& layout);
LiteLayout layout_of(const Layout& layout);

// Error for a number that its field cannot have.
Config config_of(const LiteConfig& config);
// The strings refer to those of `config`.
LiteConfig config_of(const Config& config);

// Error for a missing array or name.
NetworkIO io_of(const LiteNetworkIO& io);

// Inputs and outputs as arrays of C.
class IOArrays {
public:
    explicit IOArrays(NetworkIO io);
    IOArrays(const IOArrays&) = delete;
    IOArrays& operator=(const IOArrays&) = delete;
    LiteNetworkIO arrays();

private:
    NetworkIO io_;  // owns the names
    std::vector<LiteIO> inputs_, outputs_;
};

LiteIO io_of(const IO& io);

}  // namespace lite::c
