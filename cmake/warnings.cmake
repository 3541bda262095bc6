# Warnings of the house, as errors, for our own targets only.
function(bm_warnings target)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wvla -Werror
        $<$<COMPILE_LANGUAGE:C>:-Wconversion;-Wstrict-prototypes;-Wmissing-prototypes>)
endfunction()
