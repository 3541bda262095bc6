/* SPDX-License-Identifier: Apache-2.0 */
/* version.h -- the version of the library. */
#ifndef BANDMILL_VERSION_H
#define BANDMILL_VERSION_H

#include <bandmill/status.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define BM_VERSION_MAJOR 0
#define BM_VERSION_MINOR 1
#define BM_VERSION_PATCH 0
/* The version of these headers: MAJOR * 10,000 + MINOR * 100 + PATCH. */
#define BM_VERSION_NUMBER (BM_VERSION_MAJOR * 10000 + BM_VERSION_MINOR * 100 + BM_VERSION_PATCH)

/* The library owns this struct. Later versions may add fields at the end. */
typedef struct bm_version_info {
    const char *version;          /* "0.1.0" */
    const char *compiler;         /* the compiler that built the library */
    const char *kernels;          /* digest of the embedded kernel sources */
    const char *unicode;          /* Unicode version of the library's own tables */
    const char *utf8proc_unicode; /* Unicode version of the utf8proc that is linked */
    uint32_t format;              /* format number of manifest.json and report.json */
} bm_version_info;

/* Never NULL. The pointer is the same at each call, in any thread, for as long as the library is
 * loaded. */
BM_API const bm_version_info *bm_version(void);

/* Return BM_VERSION_NUMBER of the running library, which may be newer than the headers. Any
 * thread. */
BM_API uint32_t bm_version_number(void);

/* Return the name of the library that reads and writes Parquet and Arrow files on this machine,
 * such as "Arrow 26.0.1". NULL: there is no such library, and such files are BM_ERR_INPUT
 * (docs/install.md, bandmill-parquet). The first call opens a library of some 20 MB. The string is
 * valid for as long as Bandmill's library is loaded. Any thread. */
BM_API const char *bm_version_tables(void);

/* Can this address be a path of an input, so that the library itself reads it? True if its scheme
 * is http, https, s3, gs or hf, and libcurl can be opened (docs/inputs.md). Any thread. */
BM_API bool bm_version_reads_address(const char *address);

#if defined(__cplusplus)
}
#endif
#endif
