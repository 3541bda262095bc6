# SPDX-License-Identifier: Apache-2.0
# before_packing.cmake -- CPACK_PRE_BUILD_SCRIPTS: files have the time that SOURCE_DATE_EPOCH gives, so that the same sources make the same
# package; and what is of Debian alone does not go into an .rpm.
if(DEFINED ENV{SOURCE_DATE_EPOCH})
    execute_process(COMMAND find "${CPACK_TEMPORARY_DIRECTORY}" -exec touch -h -d "@$ENV{SOURCE_DATE_EPOCH}" "{}" + COMMAND_ERROR_IS_FATAL ANY)
endif()
if(CPACK_GENERATOR STREQUAL "RPM")
    file(GLOB_RECURSE debians "${CPACK_TEMPORARY_DIRECTORY}/changelog.Debian.gz")
    file(GLOB overrides LIST_DIRECTORIES true "${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/lintian")
    if(debians OR overrides)
        file(REMOVE_RECURSE ${debians} ${overrides})
    endif()
endif()
