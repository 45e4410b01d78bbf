/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Marks what the library offers to programs. */
#define LITE_API __attribute__((visibility("default")))

/* Behind `enum`: in C++, too, one may hold any number that a program in C gives; only then can it be refused.
 */
#ifdef __cplusplus
#define LITE_ANY_INT : int
#else
#define LITE_ANY_INT
#endif
