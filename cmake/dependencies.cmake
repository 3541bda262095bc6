# SPDX-License-Identifier: Apache-2.0
# dependencies.cmake -- finds the libraries below ours. What is missing is told in one message that names all of it, with the packages of
# Debian and Ubuntu. Each library is a line: bm_module(prefix, pkg-config's name, package) or a find_ of its own and bm_found().
#
# All names are ours, BM_ZSTD_FOUND and the like: a parent may look for the same libraries. Targets are global: whoever links the static library,
# from another folder, links those below it.
#
# Sets BM_XXHASH_DIR and BM_OPENCL_DIR (headers only), and BM_BUILD_TESTS: whether Criterion is there and the tests are wanted.
if(NOT TARGET Threads::Threads)
    find_package(Threads REQUIRED)
    set_target_properties(Threads::Threads PROPERTIES IMPORTED_GLOBAL TRUE)
endif()
find_package(PkgConfig QUIET)
set(bm_missing "")
set(bm_missing_packages "")

# bm_found(name package variable): notes what is missing where the variable is false.
macro(bm_found name package variable)
    if(NOT ${variable})
        list(APPEND bm_missing "${name}")
        list(APPEND bm_missing_packages "${package}")
    endif()
endmacro()

# bm_module(prefix "module" package): a library that pkg-config knows, as PkgConfig::prefix.
macro(bm_module prefix module package)
    set(${prefix}_FOUND FALSE)
    pkg_check_modules(${prefix} QUIET IMPORTED_TARGET GLOBAL "${module}")
    bm_found("${module}" ${package} ${prefix}_FOUND)
endmacro()

bm_found(pkg-config pkgconf PKG_CONFIG_FOUND)
bm_module(BM_ZSTD libzstd libzstd-dev)
bm_module(BM_DEFLATE libdeflate libdeflate-dev)
bm_module(BM_LZMA liblzma liblzma-dev)
bm_module(BM_LZ4 liblz4 liblz4-dev)
bm_module(BM_UTF8PROC "libutf8proc>=2.5" libutf8proc-dev) # Unicode 13: see src/text/normalize.c
bm_module(BM_CRYPTO libcrypto libssl-dev)
bm_module(BM_SIMDJSON simdjson libsimdjson-dev)
find_package(ZLIB QUIET)
bm_found(zlib zlib1g-dev ZLIB_FOUND)
find_package(BZip2 QUIET)
bm_found(bzip2 libbz2-dev BZIP2_FOUND)
find_path(BM_LMDB_DIR lmdb.h) # some systems have no lmdb.pc
find_library(BM_LMDB_LIBRARY lmdb)
bm_found(lmdb.h liblmdb-dev BM_LMDB_DIR)
if(BM_LMDB_DIR)
    bm_found(liblmdb liblmdb-dev BM_LMDB_LIBRARY)
endif()
find_path(BM_XXHASH_DIR xxhash.h)
bm_found(xxhash.h libxxhash-dev BM_XXHASH_DIR)
find_path(BM_OPENCL_DIR CL/cl.h)
bm_found(CL/cl.h opencl-c-headers BM_OPENCL_DIR)

pkg_check_modules(BM_CURL QUIET "libcurl>=7.75") # CURLOPT_AWS_SIGV4
if(NOT BM_CURL_FOUND)
    message(STATUS "Inputs at addresses (https://, s3://) are left out: libcurl was not found (Debian, Ubuntu: apt-get install libcurl4-openssl-dev)")
endif()

set(BM_BUILD_TESTS ${BM_TESTS})
if(BM_TESTS STREQUAL "AUTO")
    pkg_check_modules(BM_CRITERION QUIET IMPORTED_TARGET criterion)
    set(BM_BUILD_TESTS "${BM_CRITERION_FOUND}")
    if(NOT BM_CRITERION_FOUND)
        message(STATUS "The tests are left out: Criterion was not found (Debian, Ubuntu: apt-get install libcriterion-dev; "
            "scripts/install-deps.sh --tests installs all that tests need)")
    endif()
elseif(BM_TESTS)
    bm_module(BM_CRITERION criterion libcriterion-dev)
endif()

if(bm_missing)
    list(JOIN bm_missing ", " bm_missing)
    list(JOIN bm_missing_packages " " bm_missing_packages)
    message(FATAL_ERROR "Not found: ${bm_missing}\nOn Debian and Ubuntu:\n    apt-get install ${bm_missing_packages}\n"
        "scripts/install-deps.sh installs all that is needed.\n")
endif()
