# SPDX-License-Identifier: Apache-2.0
# packages.cmake -- what cpack makes of an installation below /usr: libbandmill0.1, libbandmill-dev and bandmill, as .deb or .rpm. The library's
# package has the number of its SONAME, so that those of two versions can be installed side by side.
#
# scripts/package.sh builds and tries them. Both kinds come from one build; the library folder is the system's (CMAKE_INSTALL_LIBDIR), so the
# build is configured once for each. bandmill-parquet is in none of them: Debian 12 has no Arrow C++ to depend on.
# Libraries that are opened when a job wants them (src/base/system.h) are named here, since no linker sees them: libcrypto, which every job
# wants, is required, and the others are recommended: compressions, LMDB, the loader of OpenCL and libcurl.
set(CPACK_PACKAGE_NAME bandmill)
set(CPACK_PACKAGE_VENDOR "The Bandmill authors")
set(BM_MAINTAINER "" CACHE STRING "Who answers for the packages, NAME <ADDRESS>; empty: DEBFULLNAME and DEBEMAIL, else nobody in particular")
set(bm_maintainer "${BM_MAINTAINER}")
if(NOT bm_maintainer AND NOT "$ENV{DEBFULLNAME}" STREQUAL "" AND NOT "$ENV{DEBEMAIL}" STREQUAL "") # as Debian's own tools
    set(bm_maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
elseif(NOT bm_maintainer)
    set(bm_maintainer "The Bandmill authors <packages@bandmill.invalid>") # .invalid never has a host (RFC 2606)
    message(STATUS "The packages name nobody who answers for them: -DBM_MAINTAINER='NAME <ADDRESS>', or DEBFULLNAME and DEBEMAIL")
endif()
if(NOT bm_maintainer MATCHES "^[^<>@]+ <[^<> @]+@[^<> @]+>$")
    message(FATAL_ERROR "BM_MAINTAINER: '${bm_maintainer}' (expected NAME <ADDRESS>)")
endif()
set(CPACK_PACKAGE_CONTACT "${bm_maintainer}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES TRUE)
set(CPACK_COMPONENTS_ALL library development program)
set(CPACK_COMPONENT_DEVELOPMENT_DEPENDS library)
set(bm_so_version ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(bm_name_library libbandmill${bm_so_version})
set(bm_name_development libbandmill-dev)
set(bm_name_program bandmill)
set(bm_what_library "shared library")
set(bm_what_development "headers and static library")
set(bm_what_program "program")
set(bm_multiarch_library same)
set(bm_multiarch_development same)
set(bm_multiarch_program foreign)
set(bm_section_library libs)
set(bm_section_development libdevel)
set(bm_section_program utils)

# The libraries that are opened: their names for the dynamic linker, and the packages of this system that have these.
function(bm_packages_of words sonames packages)
    set(names "")
    set(found "")
    foreach(word IN LISTS words)
        string(REGEX REPLACE ".*=\"(.*)\"" "\\1" soname "${BM_SONAME_${word}}")
        list(APPEND names "${soname}()(64bit)")
        execute_process(COMMAND dpkg -S "*/${CMAKE_LIBRARY_ARCHITECTURE}/${soname}" OUTPUT_VARIABLE told ERROR_QUIET RESULT_VARIABLE bad)
        if(NOT bad AND told MATCHES "^([^:,]+)")
            list(APPEND found "${CMAKE_MATCH_1}")
        endif()
    endforeach()
    list(REMOVE_DUPLICATES found)
    set(${sonames} "${names}" PARENT_SCOPE)
    set(${packages} "${found}" PARENT_SCOPE)
endfunction()
set(recommended zlib deflate zstd lzma bz2 lz4 lmdb)
if(BM_CURL_FOUND)
    list(APPEND recommended curl)
endif()
bm_packages_of(crypto bm_required_sonames bm_required_packages)
bm_packages_of("${recommended}" bm_recommended_sonames bm_recommended_packages)
list(APPEND bm_recommended_sonames "libOpenCL.so.1()(64bit)")
list(APPEND bm_recommended_packages "ocl-icd-libopencl1 | libopencl1")
list(JOIN bm_recommended_packages ", " bm_recommended_packages)

# --- .deb ---
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "${bm_required_packages}")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "${bm_required_packages}")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS "${bm_recommended_packages}")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "${bm_recommended_packages}")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "libutf8proc-dev, libsimdjson-dev")
set(made "${CMAKE_CURRENT_BINARY_DIR}/packaging")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${made}/symbols;${made}/shlibs;${made}/triggers")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/packaging/before_packing.cmake")
set(CPACK_POST_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/packaging/finish_debs.cmake")

# --- .rpm ---
set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_RELEASE 1)
set(CPACK_RPM_PACKAGE_LICENSE "Apache-2.0 AND BSD-2-Clause AND Unicode-3.0")
set(CPACK_RPM_SPEC_MORE_DEFINE "%define packager ${bm_maintainer}")
# Names of libraries, as rpm makes them of what is linked: whoever has the library has that name. (Recommends on lines of their own, since CPack
# asks this system's rpm for the tag and does not understand the answer.)
list(TRANSFORM bm_recommended_sonames PREPEND "\nRecommends: ")
list(JOIN bm_recommended_sonames "" bm_recommended_sonames)
set(bm_rpm_needs "${bm_required_sonames}${bm_recommended_sonames}")
set(CPACK_RPM_LIBRARY_PACKAGE_REQUIRES "${bm_rpm_needs}")
set(CPACK_RPM_PROGRAM_PACKAGE_REQUIRES "${bm_rpm_needs}")
set(CPACK_RPM_DEVELOPMENT_PACKAGE_REQUIRES "${bm_name_library}%{?_isa} = %{version}-%{release}")
set(CPACK_RPM_LIBRARY_PACKAGE_PROVIDES "bandmill-libs = %{version}-%{release}, bandmill-libs%{?_isa} = %{version}-%{release}")
set(CPACK_RPM_DEVELOPMENT_PACKAGE_PROVIDES "bandmill-devel = %{version}-%{release}, bandmill-devel%{?_isa} = %{version}-%{release}")
file(WRITE "${made}/ldconfig" "/sbin/ldconfig\n") # which systems of rpm older than Fedora 28, and openSUSE, do not run themselves
set(CPACK_RPM_LIBRARY_POST_INSTALL_SCRIPT_FILE "${made}/ldconfig")
set(CPACK_RPM_LIBRARY_POST_UNINSTALL_SCRIPT_FILE "${made}/ldconfig")
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/share/man /usr/share/man/man1 /usr/share/man/man3 /usr/share/man/man5
    /usr/share/bash-completion /usr/share/bash-completion/completions /usr/share/fish /usr/share/fish/vendor_completions.d
    /usr/share/zsh /usr/share/zsh/site-functions /usr/lib64/cmake /usr/lib64/pkgconfig)

# --- of each package: its name, what it is, its licence and its changes ---
string(CONCAT text "Bandmill finds near-duplicate documents: it signs them with MinHash on\n"
    "any CPU and OpenCL devices, proposes pairs by banding, verifies each by\n"
    "its exact Jaccard similarity, and keeps one document of each group.")
string(TIMESTAMP bm_changed "%a, %d %b %Y %H:%M:%S +0000" UTC)
string(TIMESTAMP bm_year "%Y" UTC)
foreach(licence BSD-2-Clause Unicode-3.0) # each as a field: lines are moved in, and empty ones are dots
    file(READ "${PROJECT_SOURCE_DIR}/LICENSES/${licence}.txt" bm_text)
    string(STRIP "${bm_text}" bm_text)
    string(REPLACE "\n" "\n " bm_text "${bm_text}")
    string(REGEX REPLACE "\n +(\n|$)" "\n .\\1" bm_text "${bm_text}")
    string(APPEND bm_licences "\nLicense: ${licence}\n ${bm_text}\n")
endforeach()
configure_file(packaging/debian/copyright.in "${made}/copyright" @ONLY)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    string(TOUPPER ${component} COMPONENT)
    set(name ${bm_name_${component}})
    set(CPACK_COMPONENT_${COMPONENT}_DESCRIPTION "${text}\n.\nThis package has the ${bm_what_${component}}.")
    foreach(kind DEBIAN RPM)
        set(CPACK_${kind}_${COMPONENT}_PACKAGE_NAME ${name})
        set(CPACK_${kind}_${COMPONENT}_PACKAGE_SUMMARY "near-duplicate detection by MinHash (${bm_what_${component}})")
    endforeach()
    set(CPACK_RPM_${COMPONENT}_PACKAGE_DESCRIPTION "${text}")
    set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_SECTION ${bm_section_${component}})
    set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_MULTIARCH ${bm_multiarch_${component}})
    set(bm_package ${name})
    configure_file(packaging/debian/changelog.in "${made}/${name}/changelog" @ONLY)
    add_custom_command(OUTPUT "${made}/${name}/changelog.Debian.gz" "${made}/${name}/changelog.gz"
        COMMAND sh -c "gzip -9nc changelog > changelog.Debian.gz && gzip -9nc \"$1\" > changelog.gz" sh "${PROJECT_SOURCE_DIR}/CHANGELOG.md"
        WORKING_DIRECTORY "${made}/${name}" DEPENDS "${made}/${name}/changelog" "${PROJECT_SOURCE_DIR}/CHANGELOG.md" VERBATIM)
    list(APPEND bm_changelogs "${made}/${name}/changelog.gz")
    install(FILES "${made}/copyright" "${made}/${name}/changelog.Debian.gz" "${made}/${name}/changelog.gz"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${name}" COMPONENT ${component})
    # A package of the project itself answers no report of Debian's.
    file(WRITE "${made}/overrides/${name}" "${name}: initial-upload-closes-no-bugs *\n")
    install(FILES "${made}/overrides/${name}" DESTINATION "${CMAKE_INSTALL_DATADIR}/lintian/overrides" COMPONENT ${component})
endforeach()
file(WRITE "${made}/triggers" "activate-noawait ldconfig\n")
file(WRITE "${made}/shlibs" "libbandmill ${bm_so_version} ${bm_name_library} (>= ${PROJECT_VERSION})\n")
# What the library exports, with its version, each since this version: later ones may have more under the same SONAME.
add_custom_command(OUTPUT "${made}/symbols"
    COMMAND sh -c "{ echo \"libbandmill.so.$2 $3 #MINVER#\"; echo '* Build-Depends-Package: libbandmill-dev'; nm -D -P --defined-only \"$1\" | sed 's/ .*//; s/@@/@/; s/^BANDMILL_[0-9.]*$/&@&/' | LC_ALL=C sort -u | sed \"s/.*/ & $4/\"; } > \"$5\""
        sh "$<TARGET_FILE:bandmill_shared>" "${bm_so_version}" "${bm_name_library}" "${PROJECT_VERSION}" "${made}/symbols"
    DEPENDS bandmill_shared VERBATIM)
add_custom_target(package_files ALL DEPENDS ${bm_changelogs} "${made}/symbols")
include(CPack)
