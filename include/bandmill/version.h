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
/* MAJOR * 10,000 + MINOR * 100 + PATCH of these headers. */
#define BM_VERSION_NUMBER (BM_VERSION_MAJOR * 10000 + BM_VERSION_MINOR * 100 + BM_VERSION_PATCH)

/* Made by the library; new fields come at the end. */
typedef struct bm_version_info {
    const char *version;          /* "0.1.0" */
    const char *compiler;         /* that built the library */
    const char *kernels;          /* digest of the embedded kernel sources */
    const char *unicode;          /* Unicode version of the library's own tables */
    const char *utf8proc_unicode; /* Unicode version of utf8proc, as linked */
    uint32_t format;              /* format number of manifest.json and report.json */
} bm_version_info;

/* Never NULL; the same at each call, from any thread, for as long as the library is loaded. */
BM_API const bm_version_info *bm_version(void);

/* BM_VERSION_NUMBER of the library that runs, which may be newer than the headers. Any thread. */
BM_API uint32_t bm_version_number(void);

/* The library that reads and writes Parquet and Arrow files here, such as "Arrow 26.0.1"; NULL:
 * there is none, and such files are BM_ERR_INPUT (docs/install.md, bandmill-parquet). The first
 * call opens a library of some 20 MB. The string is valid for as long as this library is loaded.
 * Any thread. */
BM_API const char *bm_version_tables(void);

/* Can this address be a path of an input, which the library reads by itself? True if the scheme is
 * http, https, s3, gs or hf, and libcurl can be opened here (docs/inputs.md). Any thread. */
BM_API bool bm_version_reads_address(const char *address);

#if defined(__cplusplus)
}
#endif
#endif
