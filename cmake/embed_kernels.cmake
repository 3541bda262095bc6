# embed_kernels.cmake -- turn the files of kernels/ into one C file of byte arrays.
#
#   cmake -DOUT=embedded.c -DFILES="a.h;b.cl" -P embed_kernels.cmake
#
# Each file becomes an array ended by NUL (not counted) and a row of bm_kernel_files: name, text, length. The order is that of FILES.
set(code "/* Made by cmake/embed_kernels.cmake from kernels/. */\n#include \"opencl/cl_program.h\"\n\n")
set(rows "")
set(n 0)
foreach(path IN LISTS FILES)
    file(READ "${path}" hex HEX)
    string(LENGTH "${hex}" len)
    math(EXPR len "${len} / 2")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    get_filename_component(name "${path}" NAME)
    string(APPEND code "static const unsigned char file_${n}[] = {${bytes}0x00};\n")
    string(APPEND rows "    {\"${name}\", (const char *)file_${n}, ${len}},\n")
    math(EXPR n "${n} + 1")
endforeach()
string(APPEND code "\nconst bm_kernel_file bm_kernel_files[] = {\n${rows}};\nconst unsigned bm_n_kernel_files = ${n};\n")
file(WRITE "${OUT}.new" "${code}")
execute_process(COMMAND "${CMAKE_COMMAND}" -E copy_if_different "${OUT}.new" "${OUT}")
