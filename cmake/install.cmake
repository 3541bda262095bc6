# SPDX-License-Identifier: Apache-2.0
# install.cmake -- what `cmake --install` puts where: headers, both libraries, the program, a pkg-config file and a CMake package.
#
# Each rule has a component, of which packages are made (packaging/packages.cmake): library, development, program.
#
# Everything finds its prefix from where it lies, so that a tree may be moved or installed with another --prefix. The static and the shared
# library are exported apart: who links the shared one needs no development files of the libraries below it.
include(CMakePackageConfigHelpers)

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/bandmill" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development
    FILES_MATCHING PATTERN "*.h")
install(TARGETS bandmill_shared EXPORT bandmillShared LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library
    NAMELINK_COMPONENT development
    INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS bandmill_static EXPORT bandmillStatic ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development
    INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
if(TARGET bandmill)
    install(TARGETS bandmill RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT program)
endif()

if(NOT BM_PACKAGES) # whose files of licences are those of their systems (packaging/debian/copyright.in)
    install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/LICENSES/BSD-2-Clause.txt" "${PROJECT_SOURCE_DIR}/LICENSES/Unicode-3.0.txt"
        DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT library)
endif()
# The pages that the headers name, as docs/NAME.md, and those that these lead to; but not the plan.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT development FILES_MATCHING PATTERN "*.md"
    PATTERN plan.md EXCLUDE PATTERN examples EXCLUDE PATTERN notebooks EXCLUDE PATTERN stories EXCLUDE)
install(FILES "${PROJECT_SOURCE_DIR}/tests/race/tsan.supp" DESTINATION "${CMAKE_INSTALL_DATADIR}/bandmill" COMPONENT development)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/bandmill")
install(EXPORT bandmillShared NAMESPACE bandmill:: FILE bandmillShared.cmake DESTINATION "${package_dir}" COMPONENT development)
install(EXPORT bandmillStatic NAMESPACE bandmill:: FILE bandmillStatic.cmake DESTINATION "${package_dir}" COMPONENT development)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/bandmillConfig.cmake.in" "${PROJECT_BINARY_DIR}/bandmillConfig.cmake"
    INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/bandmillConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/bandmillConfig.cmake" "${PROJECT_BINARY_DIR}/bandmillConfigVersion.cmake"
    DESTINATION "${package_dir}" COMPONENT development)

file(RELATIVE_PATH BM_PC_PREFIX "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(bm_pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
    set(bm_pc_prefix "\${pcfiledir}/${BM_PC_PREFIX}")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/bandmill.pc.in" "${PROJECT_BINARY_DIR}/bandmill.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/bandmill.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
