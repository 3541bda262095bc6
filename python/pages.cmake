# SPDX-License-Identifier: Apache-2.0
# pages.cmake: what the command has beside it in a wheel: manual pages and completions, below `share` of the environment that the wheel is
# installed into, where `man` finds the pages by PATH. `core`: the folder of the project.
if(NOT DEFINED SKBUILD_DATA_DIR) # the project's own build installs them itself (packaging/CMakeLists.txt)
    return()
endif()
set(share "${SKBUILD_DATA_DIR}/share")
foreach(section 1 5) # section 3 is of the library, which no wheel has
    file(GLOB pages CONFIGURE_DEPENDS "${core}/packaging/man/*.${section}")
    install(FILES ${pages} DESTINATION "${share}/man/man${section}" COMPONENT python)
endforeach()
set(completions "${core}/packaging/completions")
install(FILES "${completions}/bandmill.bash" DESTINATION "${share}/bash-completion/completions" COMPONENT python RENAME bandmill)
install(FILES "${completions}/bandmill.fish" DESTINATION "${share}/fish/vendor_completions.d" COMPONENT python)
install(FILES "${completions}/_bandmill" DESTINATION "${share}/zsh/site-functions" COMPONENT python)
