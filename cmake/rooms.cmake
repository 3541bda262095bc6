# rooms.cmake -- a room is an object library of all sources of one folder: room_<name>.
#
# A file for one instruction set says so at the end of its name (_avx2.c, _avx512.c, _neon.c) and gets that set's flags; files of
# another architecture are left out.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(CRYPTO REQUIRED IMPORTED_TARGET libcrypto)
pkg_check_modules(SIMDJSON REQUIRED IMPORTED_TARGET simdjson)
find_package(ZLIB REQUIRED)
find_path(BM_XXHASH_DIR xxhash.h REQUIRED)
find_path(BM_OPENCL_DIR CL/cl.h REQUIRED)

set(BM_ROOMS base model text sketch lsh io spill cpu opencl pipeline)
set(BM_LIBRARIES Threads::Threads ${CMAKE_DL_LIBS} m PkgConfig::ZSTD PkgConfig::UTF8PROC PkgConfig::CRYPTO PkgConfig::SIMDJSON
    ZLIB::ZLIB)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(BM_ARCH x86)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    set(BM_ARCH arm)
else()
    set(BM_ARCH other)
endif()

function(bm_room name folder)
    file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.c" "${folder}/*.cpp")
    if(NOT BM_ARCH STREQUAL "x86")
        list(FILTER sources EXCLUDE REGEX "_(avx2|avx512)\\.c$")
    endif()
    if(NOT BM_ARCH STREQUAL "arm")
        list(FILTER sources EXCLUDE REGEX "_neon\\.c$")
    endif()
    foreach(source IN LISTS sources)
        if(source MATCHES "_avx2\\.c$")
            set_source_files_properties("${source}" PROPERTIES COMPILE_OPTIONS "-mavx2;-mbmi;-mbmi2;-mlzcnt;-mpopcnt")
        elseif(source MATCHES "_avx512\\.c$")
            set_source_files_properties("${source}" PROPERTIES COMPILE_OPTIONS
                "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mavx2;-mbmi;-mbmi2;-mlzcnt;-mpopcnt;-mprefer-vector-width=512")
        endif()
    endforeach()
    if(NOT sources)
        file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/empty_${name}.c" "typedef int bm_room_${name}_is_empty;\n")
        set(sources "${CMAKE_CURRENT_BINARY_DIR}/empty_${name}.c")
    endif()
    add_library(room_${name} OBJECT ${sources} ${ARGN})
    target_include_directories(room_${name} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/src"
        "${PROJECT_SOURCE_DIR}/include")
    target_include_directories(room_${name} SYSTEM PRIVATE "${BM_XXHASH_DIR}" "${BM_OPENCL_DIR}")
    target_compile_definitions(room_${name} PRIVATE _GNU_SOURCE)
    target_link_libraries(room_${name} PRIVATE ${BM_LIBRARIES})
    bm_warnings(room_${name})
endfunction()
