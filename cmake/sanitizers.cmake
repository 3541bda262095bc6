# BM_SANITIZE: a list for -fsanitize, such as "address,undefined" or "thread"; empty: none.
set(BM_SANITIZE "" CACHE STRING "Sanitizers for all targets")
if(BM_SANITIZE)
    add_compile_options(-fsanitize=${BM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${BM_SANITIZE})
endif()
