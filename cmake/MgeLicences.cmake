# SPDX-License-Identifier: Apache-2.0
# The licences of other projects' code in what is installed: their headers and static libraries, and, in wheels, the
# shared libraries that auditwheel copies. Each is the copyright file of a package of Debian or Ubuntu, with the name of the
# package. Their releases number some packages differently.
set(compiled_in libcli11-dev libflatbuffers-dev libhwy-dev libjs-d3 nlohmann-json3-dev libprotobuf-dev libsqlite3-dev libssl-dev
  gcc-[0-9][0-9]-base)
set(copied_into_wheels libbz2-1.0 libdnnl[0-9]* libgloo0 libgomp1 libhiredis[0-9]* libibverbs1 libnl-3-200 libnl-route-3-200
  libpng16-16* libprotobuf-lite[0-9]* libsqlite3-0 libssl3* libturbojpeg* libxxhash0 libzip[0-9]* ocl-icd-libopencl1 zlib1g)
set(licensed_packages ${compiled_in})
if(SKBUILD)
  list(APPEND licensed_packages ${copied_into_wheels})
endif()

set(MGE_LICENCES ${PROJECT_BINARY_DIR}/third_party)
file(REMOVE_RECURSE ${MGE_LICENCES})
file(MAKE_DIRECTORY ${MGE_LICENCES})
configure_file(NOTICE ${MGE_LICENCES}/NOTICE COPYONLY)
foreach(pattern IN LISTS licensed_packages)
  # Other systems store licences elsewhere; NOTICE names all of them.
  file(GLOB folders /usr/share/doc/${pattern})
  foreach(folder IN LISTS folders)
    if(EXISTS ${folder}/copyright)
      get_filename_component(package ${folder} NAME)
      configure_file(${folder}/copyright ${MGE_LICENCES}/${package}.copyright COPYONLY)
    endif()
  endforeach()
endforeach()
if(nanobind_DIR)
  file(GLOB nanobind_licence ${nanobind_DIR}/../../nanobind-*.dist-info/licenses/LICENSE)
  if(nanobind_licence)
    configure_file(${nanobind_licence} ${MGE_LICENCES}/nanobind.copyright COPYONLY)
  endif()
endif()
install(DIRECTORY ${MGE_LICENCES} DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT library)
install(DIRECTORY ${MGE_LICENCES} DESTINATION megenginelite COMPONENT lite_python EXCLUDE_FROM_ALL)
