# SPDX-License-Identifier: Apache-2.0
# oneDNN by library and header: Debian's own package configuration asks for OpenCL development files it does not need.
find_path(OneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.h)
find_library(OneDNN_LIBRARY dnnl)
set(OneDNN_VERSION "")
if(OneDNN_INCLUDE_DIR)
  file(STRINGS ${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h lines REGEX "define DNNL_VERSION_(MAJOR|MINOR|PATCH)")
  list(TRANSFORM lines REPLACE "[^0-9]+" "")
  list(JOIN lines "." OneDNN_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDNN REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR VERSION_VAR OneDNN_VERSION)
if(OneDNN_FOUND AND NOT TARGET OneDNN::dnnl)
  add_library(OneDNN::dnnl UNKNOWN IMPORTED)
  set_target_properties(OneDNN::dnnl PROPERTIES
    IMPORTED_LOCATION "${OneDNN_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${OneDNN_INCLUDE_DIR}")
endif()
