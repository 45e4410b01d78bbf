# SPDX-License-Identifier: Apache-2.0
# Writes the commit of SOURCES to the header OUTPUT. Leaves the file untouched if the commit is unchanged.
execute_process(COMMAND git -C ${SOURCES} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit RESULT_VARIABLE failed
  ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
if(failed)
  set(commit "")
else()
  execute_process(COMMAND git -C ${SOURCES} diff-index --quiet HEAD RESULT_VARIABLE is_changed ERROR_QUIET)
  if(is_changed)
    string(APPEND commit ", changed")
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "inline constexpr const char* generated_commit = \"${commit}\";\n" @ONLY)
