/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "lite/common_enum_c.h"
