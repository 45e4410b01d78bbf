# SPDX-License-Identifier: Apache-2.0
# Runs when cpack has installed the components, before it packs them. Adds to each package what Debian's policy asks
# for: copyright, licences and changelog. Compresses manual pages.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
set(debian ${CPACK_MGE_SOURCES}/cmake/debian)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # SOURCE_DATE_EPOCH, if that is set

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}/usr)
  set(documentation ${root}/share/doc/${package})
  file(REMOVE_RECURSE ${root}/share/doc/mge)
  file(MAKE_DIRECTORY ${documentation})
  configure_file(${debian}/copyright ${documentation}/copyright COPYONLY)
  configure_file(${debian}/changelog.in ${documentation}/changelog @ONLY)
  file(COPY ${CPACK_MGE_LICENCES} DESTINATION ${documentation})
  file(GLOB pages ${root}/share/man/man1/*.1)
  execute_process(COMMAND gzip -9n ${documentation}/changelog ${pages} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
