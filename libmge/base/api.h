// SPDX-License-Identifier: Apache-2.0
#pragma once

// The library is built with hidden visibility; MGE_API marks what users may link against.
#define MGE_API __attribute__((visibility("default")))
