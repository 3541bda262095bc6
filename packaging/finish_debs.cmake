# SPDX-License-Identifier: Apache-2.0
# finish_debs.cmake -- CPACK_POST_BUILD_SCRIPTS: what CPack cannot write into the control files of .deb before version 3.31, and what it writes
# too much.
#
#   Multi-Arch     as CPACK_DEBIAN_<COMPONENT>_PACKAGE_MULTIARCH says, which newer versions of CPack obey themselves
#   Description    the first line of each package is its own (CPACK_DEBIAN_<COMPONENT>_PACKAGE_SUMMARY)
#   postinst, postrm   go: they call ldconfig, which the triggers file asks for
#
# With SOURCE_DATE_EPOCH the control files have that time, as all others have it (before_packing.cmake).
#
# A .deb is an ar archive of three members: debian-binary, the control files, the data. Only the second is made anew; ar leaves it in its place,
# and dpkg-deb must be able to read what came of it.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
    return()
endif()
find_program(AR ar REQUIRED)
find_program(TAR tar REQUIRED)
find_program(DPKG_DEB dpkg-deb REQUIRED)

function(run folder)
    execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${folder}" RESULT_VARIABLE bad OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(bad)
        list(JOIN ARGN " " command)
        message(FATAL_ERROR "finish_debs.cmake: ${command}: ${said}")
    endif()
endfunction()

# The control file, with its fields as they are to be.
function(finish_control path)
    file(READ "${path}" control)
    string(REGEX MATCH "(^|\n)Package: ([^\n]*)" line "${control}")
    set(name "${CMAKE_MATCH_2}")
    foreach(component IN LISTS CPACK_COMPONENTS_ALL)
        string(TOUPPER "${component}" component)
        if(NOT name STREQUAL "${CPACK_DEBIAN_${component}_PACKAGE_NAME}")
            continue()
        endif()
        string(REGEX REPLACE "(^|\n)Multi-Arch: [^\n]*" "" control "${control}")
        string(REGEX REPLACE "(^|\n)(Architecture: [^\n]*)" "\\1\\2\nMulti-Arch: ${CPACK_DEBIAN_${component}_PACKAGE_MULTIARCH}" control "${control}")
        string(REGEX REPLACE "(^|\n)Description: [^\n]*" "\\1Description: ${CPACK_DEBIAN_${component}_PACKAGE_SUMMARY}" control "${control}")
        file(WRITE "${path}" "${control}")
        return()
    endforeach()
    message(FATAL_ERROR "finish_debs.cmake: no component has the package '${name}' (${path})")
endfunction()

set(dated "")
if(DEFINED ENV{SOURCE_DATE_EPOCH})
    set(dated "--mtime=@$ENV{SOURCE_DATE_EPOCH}")
endif()
foreach(deb IN LISTS CPACK_PACKAGE_FILES)
    if(NOT deb MATCHES "\\.deb$")
        continue()
    endif()
    set(folder "${deb}.control")
    file(REMOVE_RECURSE "${folder}")
    file(MAKE_DIRECTORY "${folder}/files")
    run("${folder}" "${AR}" x "${deb}")
    file(GLOB member RELATIVE "${folder}" "${folder}/control.tar*")
    run("${folder}" "${TAR}" -xf "${member}" -C files)
    finish_control("${folder}/files/control")
    file(REMOVE "${folder}/files/postinst" "${folder}/files/postrm")
    file(GLOB files RELATIVE "${folder}/files" "${folder}/files/*")
    list(TRANSFORM files PREPEND "./")
    run("${folder}/files" "${TAR}" --auto-compress --format=gnu --sort=name ${dated} --owner=root:0 --group=root:0 -cf "../${member}" ${files})
    run("${folder}" "${AR}" rD "${deb}" "${member}")
    run("${folder}" "${DPKG_DEB}" --info "${deb}")
    run("${folder}" "${DPKG_DEB}" --contents "${deb}")
    file(REMOVE_RECURSE "${folder}")
endforeach()
