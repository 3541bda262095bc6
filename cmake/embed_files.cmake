# SPDX-License-Identifier: Apache-2.0
# embed_files.cmake -- turn files into one C file of byte arrays.
#
#   cmake -DOUT=embedded.c -DHEADER=folder/rows.h -DROW=bm_row -DTABLE=bm_rows [-DCOUNT=bm_n_rows] -DFILES="a.h;b.cl" -P embed_files.cmake
#
# Each file becomes an array ended by NUL (not counted) and a row of TABLE: name, text, length. The order is that of FILES. COUNT: how many.
set(code "/* Made by cmake/embed_files.cmake. */\n#include \"${HEADER}\"\n\n")
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
string(APPEND code "\nconst ${ROW} ${TABLE}[] = {\n${rows}};\n")
if(COUNT)
    string(APPEND code "const unsigned ${COUNT} = ${n};\n")
endif()
file(WRITE "${OUT}.new" "${code}")
execute_process(COMMAND "${CMAKE_COMMAND}" -E copy_if_different "${OUT}.new" "${OUT}")
