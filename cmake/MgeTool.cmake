# SPDX-License-Identifier: Apache-2.0
# mge_tool(NAME FOLDER): a command-line tool of all sources in a folder.
function(mge_tool name folder)
  mge_sources(sources ${folder})
  mge_program(${name} SOURCES ${sources} LIBRARIES mge_cli)
  # Not for the mains of load_and_run and mge-profile: each source would instantiate the templates of a precompiled
  # header, which takes 4 s.
  mge_quick_build(${name} REUSE mge_cli)
  if(MGE_QUICK_BUILD)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  endif()
endfunction()

# mge_program(NAME SOURCES source… LIBRARIES target…): the program of a tool. Once linked, it writes its manual page and
# shell completions to share/ of the build tree, from where they are installed.
function(mge_program name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;LIBRARIES")
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES})
  install(TARGETS ${name} COMPONENT tools)
  set_property(GLOBAL APPEND PROPERTY MGE_TOOL_NAMES ${name})

  set(share ${PROJECT_BINARY_DIR}/share)
  set(man ${share}/man/man1/${name}.1)
  set(bash ${share}/bash-completion/completions/${name})
  set(fish ${share}/fish/vendor_completions.d/${name}.fish)
  set(zsh ${share}/zsh/site-functions/_${name})
  add_custom_command(TARGET ${name} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E make_directory ${share}/man/man1 ${share}/bash-completion/completions ${share}/fish/vendor_completions.d
      ${share}/zsh/site-functions
    COMMAND ${name} --print-man > ${man}
    COMMAND ${name} --print-completion bash > ${bash}
    COMMAND ${name} --print-completion fish > ${fish}
    COMMAND ${name} --print-completion zsh > ${zsh}
    COMMENT "Manual page and shell completions of ${name}" VERBATIM)
  install(FILES ${man} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
  install(FILES ${bash} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT tools)
  install(FILES ${fish} DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT tools)
  install(FILES ${zsh} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT tools)
endfunction()

# mge_write_tool_names(HEADER): writes a header with the names of all tools, for their manual pages. Call after the last tool.
function(mge_write_tool_names header)
  get_property(names GLOBAL PROPERTY MGE_TOOL_NAMES)
  list(SORT names)
  list(JOIN names "\", \"" names)
  file(CONFIGURE OUTPUT ${header} CONTENT "inline constexpr const char* generated_tool_names[] = {\"@names@\"};\n" @ONLY)
endfunction()
