# SPDX-License-Identifier: Apache-2.0
# before_rpm.cmake -- CPACK_PRE_BUILD_SCRIPTS: what is of Debian alone does not go into an .rpm.
if(CPACK_GENERATOR STREQUAL "RPM")
    file(GLOB_RECURSE debians "${CPACK_TEMPORARY_DIRECTORY}/changelog.Debian.gz")
    file(GLOB overrides LIST_DIRECTORIES true "${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/lintian")
    if(debians OR overrides)
        file(REMOVE_RECURSE ${debians} ${overrides})
    endif()
endif()
