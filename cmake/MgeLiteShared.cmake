# SPDX-License-Identifier: Apache-2.0
# The deployment library liblite_shared.so: Lite in C++ and C with everything it needs, in one file that depends on
# oneDNN, xxHash, GCC's libgcc_s and the C library. It links the objects of libmge, except the few sources that differ between the two
# libraries. The linker removes unreachable code (training, tapes, gradient kernels). -DMGE_LITE_ONLY=ON builds only
# this library; a build with tests also builds it.
if(MGE_LITE_ONLY)
  # Lets the linker remove single functions instead of whole files.
  target_compile_options(mge_flags INTERFACE -ffunction-sections -fdata-sections)
  set_target_properties(mge PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
list(TRANSFORM MGE_OWN_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/libmge/ OUTPUT_VARIABLE own_sources)
add_library(mge_lite_own OBJECT ${own_sources})
target_compile_definitions(mge_lite_own PRIVATE MGE_LITE_ONLY)
target_link_libraries(mge_lite_own PRIVATE mge_objects)

# Small dependencies are linked statically.
find_library(LITE_SQLITE NAMES libsqlite3.a sqlite3 REQUIRED)
if(MGE_OPENSSL)
  find_library(LITE_CRYPTO NAMES libcrypto.a crypto REQUIRED)
endif()
mark_as_advanced(LITE_SQLITE LITE_CRYPTO)

set(exports ${PROJECT_SOURCE_DIR}/cmake/lite_exports.map)
add_library(lite_shared SHARED $<TARGET_OBJECTS:mge_lite_own> $<TARGET_OBJECTS:mge_lite_objects>)
# After the objects: the linker takes symbols that are in both from the first.
target_link_libraries(lite_shared
  PRIVATE $<TARGET_FILE:mge_internal> ${OneDNN_LIBRARY} ${LITE_SQLITE} ${LITE_CRYPTO} ${XXHASH} ${CMAKE_DL_LIBS}
  INTERFACE mge_lite_headers)
add_dependencies(lite_shared mge_internal)
if(ANDROID)
  # The NDK's toolchain file chooses the C++ library. Devices may have pages of 16 KiB.
  target_link_options(lite_shared PRIVATE -Wl,-z,max-page-size=16384)
else()
  # A static libgcc would unwind the stack with tables of its own: an error thrown to a program would end it.
  target_link_options(lite_shared PRIVATE -shared-libgcc -static-libstdc++)
endif()
target_link_options(lite_shared PRIVATE
  -Wl,--no-undefined -Wl,--gc-sections -Wl,--exclude-libs,ALL -Wl,--version-script=${exports} $<$<CONFIG:Release>:-s>)
set_target_properties(lite_shared PROPERTIES
  LINKER_LANGUAGE CXX LINK_DEPENDS "${exports};$<TARGET_FILE:mge_internal>"
  VERSION ${PROJECT_VERSION} SOVERSION ${MGE_SOVERSION} EXPORT_NAME lite)
if(NOT MGE_LITE_ONLY)
  # Beside libmge, megenginelite would mistake it for its own.
  set_target_properties(lite_shared PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/lite)
endif()
