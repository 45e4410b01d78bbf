# SPDX-License-Identifier: Apache-2.0
# Files that `cmake --install` installs for C++ programs: the library, its headers, and the files for find_package and
# pkg-config. Tools and the Python package are installed where they are built.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/mge)

write_basic_package_version_file(generated/mgeConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/mgeConfigVersion.cmake DESTINATION ${package_folder} COMPONENT development)
# Lite's interface, under the names that programs include.
install(DIRECTORY libmge/lite/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT library)
configure_package_config_file(cmake/mgeConfig.cmake.in generated/mgeConfig.cmake
  INSTALL_DESTINATION ${package_folder})
install(FILES ${PROJECT_BINARY_DIR}/generated/mgeConfig.cmake DESTINATION ${package_folder} COMPONENT development)

if(MGE_LITE_ONLY)
  install(TARGETS lite_shared mge_lite_headers EXPORT mge_targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_COMPONENT development)
  install(EXPORT mge_targets NAMESPACE mge:: FILE mgeTargets.cmake DESTINATION ${package_folder} COMPONENT development)
endif()
if(TARGET lite_shared)
  # For the wheel only (python/lite_wheel): the package, and the library under its SONAME, because wheels have no links.
  install(DIRECTORY python/megenginelite DESTINATION . COMPONENT lite_python EXCLUDE_FROM_ALL
    FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
  install(FILES $<TARGET_FILE:lite_shared> DESTINATION megenginelite RENAME $<TARGET_SONAME_FILE_NAME:lite_shared>
    COMPONENT lite_python EXCLUDE_FROM_ALL)
endif()
if(MGE_LITE_ONLY)
  return()
endif()
if(TARGET lite_shared)
  # Beside libmge, whose files for development have Lite's headers too. Only the Debian package has it.
  install(TARGETS lite_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_SKIP COMPONENT lite EXCLUDE_FROM_ALL)
endif()

set(namelink development)
set(MGE_LINKER_NAME mge)
if(SKBUILD)
  # Wheels have no links: the library has one name.
  set(namelink namelink)
  set(MGE_LINKER_NAME :libmge.so.${MGE_SOVERSION})
  set_target_properties(mge PROPERTIES VERSION ${MGE_SOVERSION})
endif()
install(TARGETS mge mge_lite mge_lite_headers EXPORT mge_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT ${namelink})
install(EXPORT mge_targets NAMESPACE mge:: FILE mgeTargets.cmake DESTINATION ${package_folder} COMPONENT development)

# The headers that libmge/mge.h and libmge/own_operators.h include. No list says which headers are public: it follows
# from the includes at install time.
install(CODE "
  set(MGE_SOURCE_ROOT \"${PROJECT_SOURCE_DIR}\")
  set(MGE_GENERATED_ROOT \"${PROJECT_BINARY_DIR}/generated\")
  set(MGE_HEADER_DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\")
  include(\"${PROJECT_SOURCE_DIR}/cmake/install_headers.cmake\")"
  COMPONENT development)

# Relative, so that an installed tree may be moved.
file(RELATIVE_PATH MGE_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/mge.pc.in generated/mge.pc @ONLY)
install(FILES cmake/mgeOperators.cmake DESTINATION ${package_folder} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/generated/mge.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
