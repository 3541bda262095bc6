# SPDX-License-Identifier: Apache-2.0
# Warnings of the house, for our own targets only. They are errors in the presets that continuous integration builds (BM_WERROR): another
# compiler may know more of them, and whoever only builds should not be stopped by one.
if(BM_WERROR)
    set(BM_WARNINGS_ARE_ERRORS -Werror)
endif()
function(bm_warnings target)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wvla ${BM_WARNINGS_ARE_ERRORS}
        $<$<COMPILE_LANGUAGE:C>:-Wconversion;-Wstrict-prototypes;-Wmissing-prototypes>)
endfunction()
