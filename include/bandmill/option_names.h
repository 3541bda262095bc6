/* SPDX-License-Identifier: Apache-2.0 */
/* option_names.h -- the names that option values have on the command line, in reports and in
 * journals.
 *
 * Each name is defined once in the library. Threads: any; there is no state. */
#ifndef BANDMILL_OPTION_NAMES_H
#define BANDMILL_OPTION_NAMES_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef enum bm_option {
    BM_OPTION_FORMAT,
    BM_OPTION_HEADER, /* BM_HEADER_BY_FIELDS has no name */
    BM_OPTION_DUPLICATE_IDS,
    BM_OPTION_ON_ERROR,
    BM_OPTION_INVALID_UTF8,
    BM_OPTION_NORMALIZE, /* the value is the number of a bit */
    BM_OPTION_WORDS,
    BM_OPTION_SHINGLE, /* the kind */
    BM_OPTION_SHORT,
    BM_OPTION_SCHEME,
    BM_OPTION_CANDIDATES,
    BM_OPTION_VERIFY,
    BM_OPTION_IDENTICAL,
    BM_OPTION_CLUSTER,
    BM_OPTION_KEEP,
    BM_OPTION_KEPT,
    BM_OPTION_OFFLOAD,
    BM_OPTION_STORE,
    BM_OPTION_WEIGHTS,
    BM_OPTION_HASH,
    BM_OPTION_EXCHANGE,
    BM_OPTION_EXPORT_WHAT,
    BM_OPTION_MEASURE,
    BM_OPTION_REMOVED, /* a bm_records */
    BM_OPTION_UNIT,    /* BM_UNIT_DOCUMENT has no name */
    BM_N_OPTIONS
} bm_option;

/* Return the name of a value, such as "star" for (BM_OPTION_CLUSTER, BM_CLUSTER_STAR). NULL: the
 * option has no such value. */
BM_API const char *bm_option_name(bm_option option, unsigned value);
/* Set *value to the value that has this name of `len` bytes. Returns false if the option has no
 * such value. */
BM_API bool bm_option_value(bm_option option, const char *name, size_t len, unsigned *value);

#if defined(__cplusplus)
}
#endif
#endif
