# SPDX-License-Identifier: Apache-2.0
# The library for deployment (-DMGE_LITE_ONLY=ON): Lite in C++ and C and what it reaches, in one file that needs oneDNN, Highway,
# xxHash and the C library besides. What nothing reaches from there (training, tapes, the kernels of gradients) the linker leaves out.
include(CMakePackageConfigHelpers)

target_compile_definitions(mge_flags INTERFACE MGE_LITE_ONLY)
target_compile_options(mge_flags INTERFACE -ffunction-sections -fdata-sections)
set_target_properties(mge mge_internal PROPERTIES EXCLUDE_FROM_ALL ON)

add_library(lite_shared SHARED)
target_link_libraries(lite_shared PRIVATE mge_objects ${CMAKE_DL_LIBS} INTERFACE mge_lite_headers)
set(exports ${PROJECT_SOURCE_DIR}/cmake/lite_exports.map)
target_link_options(lite_shared PRIVATE -static-libgcc -static-libstdc++
  -Wl,--no-undefined -Wl,--gc-sections -Wl,--exclude-libs,ALL -Wl,--version-script=${exports} $<$<CONFIG:Release>:-s>)
set_target_properties(lite_shared PROPERTIES
  LINK_DEPENDS ${exports} VERSION ${PROJECT_VERSION} SOVERSION 0 EXPORT_NAME lite)

install(TARGETS lite_shared mge_lite_headers EXPORT mge_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_COMPONENT development)
install(EXPORT mge_targets NAMESPACE mge:: FILE mgeConfig.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mge COMPONENT development)
write_basic_package_version_file(generated/mgeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/mgeConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mge COMPONENT development)
install(DIRECTORY libmge/lite/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

# For the wheel alone (python/lite_wheel): the package, and the library under its SONAME, because wheels know no links.
install(DIRECTORY python/megenginelite DESTINATION . COMPONENT python EXCLUDE_FROM_ALL
  FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
install(FILES $<TARGET_FILE:lite_shared> DESTINATION megenginelite RENAME $<TARGET_SONAME_FILE_NAME:lite_shared>
  COMPONENT python EXCLUDE_FROM_ALL)
