/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#define LITE_CAPI __attribute__((visibility("default")))
