// SPDX-License-Identifier: Apache-2.0
#pragma once

// The library is built with hidden visibility; MGE_API marks the public symbols.
#define MGE_API __attribute__((visibility("default")))
