/* SPDX-License-Identifier: Apache-2.0 */
/* version.c -- the library's version; see bandmill/version.h.
 *
 * The digest of the kernels is the XXH3_64 of name, length and text of all embedded files, in
 * order. It is computed once.
 *
 * Tests: tests/cli/cases/usage.sh */
#include <bandmill/version.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <utf8proc.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "opencl/cl_program.h"
#include "text/normalize.h"

#define TEXT_OF(x)    #x
#define TEXT(x)       TEXT_OF(x)
#define VERSION_TEXT  TEXT(BM_VERSION_MAJOR) "." TEXT(BM_VERSION_MINOR) "." TEXT(BM_VERSION_PATCH)
#define REPORT_FORMAT 1

#if defined(__clang__)
#define COMPILER_TEXT "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER_TEXT "gcc " __VERSION__
#else
#define COMPILER_TEXT "unknown"
#endif

static pthread_once_t info_once = PTHREAD_ONCE_INIT;
static char digest_text[17];
static bm_version_info info;

static void find_digest(void)
{
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    for (unsigned i = 0; i < bm_n_kernel_files; i++) {
        uint64_t len = bm_kernel_files[i].len;
        XXH3_64bits_update(&state, bm_kernel_files[i].name, strlen(bm_kernel_files[i].name) + 1);
        XXH3_64bits_update(&state, &len, sizeof len);
        XXH3_64bits_update(&state, bm_kernel_files[i].text, bm_kernel_files[i].len);
    }
    snprintf(digest_text, sizeof digest_text, "%016" PRIx64, (uint64_t)XXH3_64bits_digest(&state));
}

static void fill_info(void)
{
    find_digest();
    info.version = VERSION_TEXT;
    info.compiler = COMPILER_TEXT;
    info.kernels = digest_text;
    info.unicode = bm_unicode_version();
    info.utf8proc_unicode = utf8proc_unicode_version();
    info.format = REPORT_FORMAT;
}

uint32_t bm_version_number(void)
{
    return BM_VERSION_NUMBER;
}

const bm_version_info *bm_version(void)
{
    pthread_once(&info_once, fill_info);
    return &info;
}
