# SPDX-License-Identifier: Apache-2.0
message(FATAL_ERROR "this build tree has CPU kernels for one machine alone; packages are made of the preset release")
