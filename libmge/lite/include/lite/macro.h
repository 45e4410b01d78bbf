/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Marks the public interface of the library. */
#define LITE_API __attribute__((visibility("default")))

/* After `enum`: allows any number in C++ too, so that invalid ones from C programs can be refused.
 */
#ifdef __cplusplus
#define LITE_ANY_INT : int
#else
#define LITE_ANY_INT
#endif
