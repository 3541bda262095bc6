# SPDX-License-Identifier: Apache-2.0
# BM_SANITIZE: a list for -fsanitize, such as "address,undefined" or "thread"; empty: none. Lines are all that reports need of -g, and -O1
# halves the time that the compiler takes.
set(BM_SANITIZE "" CACHE STRING "Sanitizers for all targets")
if(BM_SANITIZE)
    add_compile_options(-fsanitize=${BM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g1)
    if(BM_SANITIZE MATCHES "address|thread") # these have a malloc of their own; gcc and clang tell it in two ways
        add_compile_definitions(BM_SANITIZED)
    endif()
    add_link_options(-fsanitize=${BM_SANITIZE})
    if(BM_SANITIZE MATCHES "address") # whose tables of globals are megabytes of addresses: written at each start, where the program may lie anywhere
        string(APPEND CMAKE_EXE_LINKER_FLAGS " -no-pie")
        # clang's runtime as a library of its own, as gcc's is: faults are put before calls that it wraps (LD_PRELOAD). libFuzzer wants it inside.
        if(CMAKE_C_COMPILER_ID STREQUAL "Clang" AND NOT BM_FUZZ)
            execute_process(COMMAND "${CMAKE_C_COMPILER}" -print-runtime-dir OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
            add_link_options(-shared-libasan "LINKER:-rpath,${runtime}")
        endif()
    endif()
endif()
