/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Marks what the library offers to programs. */
#define LITE_API __attribute__((visibility("default")))
