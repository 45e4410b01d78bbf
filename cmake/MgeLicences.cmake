# SPDX-License-Identifier: Apache-2.0
# The licences of other projects' code in what is installed: their headers and static libraries, and, in wheels, the
# shared libraries that auditwheel copies. Each is the copyright file of a Debian package, with the name of the package.
set(compiled_in libcli11-dev libflatbuffers-dev libhwy-dev libjs-d3 nlohmann-json3-dev libprotobuf-dev libsqlite3-dev libssl-dev
  gcc-12-base)
set(copied_into_wheels libbz2-1.0 libdnnl2 libgloo0 libgomp1 libhiredis0.14 libibverbs1 libnl-3-200 libnl-route-3-200
  libpng16-16 libprotobuf-lite32 libsqlite3-0 libssl3 libturbojpeg0 libxxhash0 libzip4 ocl-icd-libopencl1 zlib1g)
set(licensed_packages ${compiled_in})
if(SKBUILD)
  list(APPEND licensed_packages ${copied_into_wheels})
endif()

set(MGE_LICENCES ${PROJECT_BINARY_DIR}/third_party)
file(REMOVE_RECURSE ${MGE_LICENCES})
file(MAKE_DIRECTORY ${MGE_LICENCES})
configure_file(NOTICE ${MGE_LICENCES}/NOTICE COPYONLY)
foreach(package IN LISTS licensed_packages)
  # Other systems store licences elsewhere; NOTICE names all of them.
  if(EXISTS /usr/share/doc/${package}/copyright)
    configure_file(/usr/share/doc/${package}/copyright ${MGE_LICENCES}/${package}.copyright COPYONLY)
  endif()
endforeach()
if(nanobind_DIR)
  file(GLOB nanobind_licence ${nanobind_DIR}/../../nanobind-*.dist-info/licenses/LICENSE)
  if(nanobind_licence)
    configure_file(${nanobind_licence} ${MGE_LICENCES}/nanobind.copyright COPYONLY)
  endif()
endif()
install(DIRECTORY ${MGE_LICENCES} DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT library)
install(DIRECTORY ${MGE_LICENCES} DESTINATION megenginelite COMPONENT lite_python EXCLUDE_FROM_ALL)
