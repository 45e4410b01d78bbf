# SPDX-License-Identifier: Apache-2.0
# Debian packages of a build tree, by `cpack -G DEB`: libmge0 (the library), libmge-dev (headers, and the files for CMake
# and pkg-config), mge-tools, python3-mge, and libmge-lite (the small library for deployment). A package per engine for
# several processes (libmge0-gloo), and libmge0-cuda, if the build has them. dpkg-shlibdeps finds their dependencies.
if(MGE_NATIVE_KERNELS)
  # Packages must run on every machine.
  set(CPACK_INSTALL_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/refuse_package.cmake)
endif()
set(CPACK_PACKAGE_NAME mge)
set(CPACK_PACKAGE_VENDOR MGE)
set(CPACK_PACKAGE_CONTACT "The MGE maintainers <mge@localhost>")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "deep-learning engine with the interface of MegEngine")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
if(CMAKE_SYSROOT)
  list(APPEND CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
endif()
# Adds what Debian's policy asks for to each package: copyright, changelog, compressed manual pages.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/finish_package.cmake)
set(CPACK_MGE_SOURCES ${PROJECT_SOURCE_DIR})
set(CPACK_MGE_LICENCES ${MGE_LICENCES})

# mge_package(COMPONENT NAME SECTION TITLE TEXT [DEPENDS package...]): the package of an install component.
set(own_library "libmge${MGE_SOVERSION} (= ${PROJECT_VERSION})")
function(mge_package component name section title text)
  cmake_parse_arguments(PARSE_ARGV 5 ARG "" "" "DEPENDS")
  string(TOUPPER ${component} upper)
  list(JOIN ARG_DEPENDS ", " depends)
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${component} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "This package has the ${title}.\n${text}" PARENT_SCOPE)
endfunction()

# libmge opens OpenSSL at run time (libmge/model/crypt/openssl.h). The packages are called so in Debian and Ubuntu.
mge_package(library libmge${MGE_SOVERSION} libs "library"
  "Tensors, operators, the graph compiler, training, and the interface of\nMegEngine Lite in C++ and C."
  DEPENDS "libssl3 | libssl3t64")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/debian/triggers)
mge_package(development libmge-dev libdevel "headers"
  "What programs in C++ and C are built with: headers, and the files for CMake\nand pkg-config."
  DEPENDS "${own_library}")
if(TARGET mge_cuda)
  mge_package(cuda libmge${MGE_SOVERSION}-cuda libs "backend for NVIDIA GPUs"
    "It is loaded when a GPU is named." DEPENDS "${own_library}")
endif()
foreach(engine gloo openmpi mpich)
  if(TARGET mge_${engine})
    mge_package(engine_${engine} libmge${MGE_SOVERSION}-${engine} libs "engine ${engine}"
      "Processes that train together exchange their tensors by it." DEPENDS "${own_library}")
  endif()
endforeach()
if(MGE_TOOLS)
  get_property(tools GLOBAL PROPERTY MGE_TOOL_NAMES)
  list(SORT tools)
  list(JOIN tools ", " tools)
  mge_package(tools mge-tools science "command-line tools"
    "${tools},\nwith manual pages and completions."
    DEPENDS "${own_library}")
endif()
if(TARGET mge_python)
  # The extension works with one version of Python.
  math(EXPR next_minor "${MGE_PYTHON_MINOR} + 1")
  mge_package(python_debian python3-mge python "Python packages"
    "The packages megengine and megenginelite, with the interface of MegEngine 1.13."
    DEPENDS "${own_library}" "python3 (>= 3.${MGE_PYTHON_MINOR})" "python3 (<< 3.${next_minor})" python3-numpy python3-tqdm)
  set(debian_folder ${PROJECT_SOURCE_DIR}/cmake/debian/python3-mge)
  set(CPACK_DEBIAN_PYTHON_DEBIAN_PACKAGE_CONTROL_EXTRA ${debian_folder}/postinst ${debian_folder}/prerm)
endif()
if(TARGET lite_shared)
  mge_package(lite libmge-lite libs "small library for deployment"
    "MegEngine Lite in C++ and C for CPUs, in one file without training and tools.")
  set(CPACK_DEBIAN_LITE_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/debian/triggers)
endif()

include(CPack)
