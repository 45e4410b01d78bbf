// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/base/api.h"

namespace mge {

// While one lives, files that MappedFile::open() opens on this thread are read into memory instead of being
// mapped, as with MGE_MAP_FILES=0 in the environment.
class MGE_API CopiedFilesScope {
public:
    explicit CopiedFilesScope(bool copies);
    ~CopiedFilesScope();
    CopiedFilesScope(const CopiedFilesScope&) = delete;
    CopiedFilesScope& operator=(const CopiedFilesScope&) = delete;

private:
    bool outer_;
};

}  // namespace mge
