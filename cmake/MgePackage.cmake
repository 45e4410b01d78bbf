# SPDX-License-Identifier: Apache-2.0
# Debian packages of a build tree, by `cpack -G DEB`: libmge0 (the library), libmge0-cuda (its backend for NVIDIA's
# GPUs), libmge-dev (headers, and the files for CMake and pkg-config), mge-tools. dpkg-shlibdeps finds their
# dependencies.
if(MGE_NATIVE_KERNELS)
  # Packages must run on every machine.
  set(CPACK_INSTALL_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/refuse_package.cmake)
endif()
set(CPACK_PACKAGE_NAME mge)
set(CPACK_PACKAGE_VENDOR MGE)
set(CPACK_PACKAGE_CONTACT "MGE developers <mge@localhost>")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL library development)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
set(own_version "(= ${PROJECT_VERSION})")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libmge${MGE_SOVERSION})
# A library that libmge opens at run time (libmge/model/crypt/openssl.h), by its names in Debian and Ubuntu.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "libssl3 | libssl3t64")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "Deep-learning engine: the library\nTensors, operators, the graph compiler, training, and the Lite interface in C++ and C.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libmge-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libmge${MGE_SOVERSION} ${own_version}")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Deep-learning engine: headers\nWhat programs in C++ and C are built with.")

if(MGE_CUDA)
  list(APPEND CPACK_COMPONENTS_ALL cuda)
  set(CPACK_DEBIAN_CUDA_PACKAGE_NAME libmge${MGE_SOVERSION}-cuda)
  set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "libmge${MGE_SOVERSION} ${own_version}")
  set(CPACK_COMPONENT_CUDA_DESCRIPTION "Deep-learning engine: NVIDIA's GPUs\nThe backend that is loaded when a GPU is named.")
endif()

if(MGE_TOOLS)
  list(APPEND CPACK_COMPONENTS_ALL tools)
  set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME mge-tools)
  set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "libmge${MGE_SOVERSION} ${own_version}")
  set(CPACK_COMPONENT_TOOLS_DESCRIPTION "Deep-learning engine: command-line tools\nload_and_run, mge-dump, mge-crypt, mge-fastrun-cache and mge-profile, with manual pages and completions.")
endif()

include(CPack)
