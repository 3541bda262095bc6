# BM_SANITIZE: a list for -fsanitize, such as "address,undefined" or "thread"; empty: none. Lines are all that reports need of -g, and -O1
# halves the time that the compiler takes.
set(BM_SANITIZE "" CACHE STRING "Sanitizers for all targets")
if(BM_SANITIZE)
    add_compile_options(-fsanitize=${BM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g1)
    add_link_options(-fsanitize=${BM_SANITIZE})
    if(BM_SANITIZE MATCHES "address") # whose tables of globals are megabytes of addresses: written at each start, where the program may lie anywhere
        string(APPEND CMAKE_EXE_LINKER_FLAGS " -no-pie")
    endif()
endif()
