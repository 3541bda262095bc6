/* SPDX-License-Identifier: Apache-2.0 */
/* job_settings.h -- settings of some jobs only: of pairing, of outputs, and of queries to an index.
 * Public options have them as single fields; a field that is written to reports, compared or
 * refused has a row in field_rows.c. */
#pragma once

#include <bandmill/exchange.h>
#include <bandmill/index.h>
#include <bandmill/types.h>

/* The default keep order of CONTAINED, as reports show it: most distinct shingles, then longest,
 * then first. */
#define BM_KEEP_BY_SHINGLES "shingles,longest"

/* Settings for choosing pairs, and the document of a group that is kept. Settings that are passed
 * on unchanged are in options/rows.def; `verify` is AUTO until it is resolved. */
typedef struct bm_pair_settings {
#define PAIR_SETTING(type, name) type name;
#include "options/rows.def"
    bm_candidate_rule candidates;
    const char *keep;           /* the list of keep rules; NULL: first */
    const char *const *against; /* an index, signatures or inputs of known documents; NULL: none */
    size_t n_against;
    const char *const *against_text_fields; /* text fields of known inputs; NULL: the fields of the
                                             * inputs */
    size_t n_against_text_fields;
    const char *against_id_field;            /* id field of known inputs; NULL: the id field of the
                                              * inputs */
    struct ArrowArrayStream *against_stream; /* known documents instead of `against`; NULL: none */
    uint64_t against_row_ids;                /* row_ids of against_stream */
    bool by_shingles;         /* `keep` is BM_KEEP_BY_SHINGLES, which is not a list of rules */
    double containment;       /* threshold of CONTAINED; else 0 */
    double against_threshold; /* threshold of known documents in an index; 0: the index's own
                               * threshold */
    char against_state[128];  /* identifies the version of the known documents; set once they are
                               * open */
} bm_pair_settings;

/* settings of export */
typedef struct bm_exchange_settings {
    bm_exchange to;
    bm_export_what what;
} bm_exchange_settings;

/* Results that are written besides the rows and the summary; `removed` only by dedup
 * (bm_settings_write_removed). */
typedef struct bm_result_settings {
#define RESULT_SETTING(type, name) type name;
#include "options/rows.def"
    bool band_keys;
    bool json;         /* rows that are passed to `write` are JSON Lines */
    bool all_digits;   /* rows that are not JSON Lines have all digits of similarities */
    bm_write_fn write; /* receives rows or the kept records; NULL: they are written to files */
    void *write_ctx;
    uint32_t shard, n_shards; /* which shard of the inputs is read; n_shards 0: all of them */
    bm_exchange_settings exchange;
} bm_result_settings;

/* settings of query */
typedef struct bm_query_settings {
    const char *index; /* NULL: `targets` */
    const char *const *targets;
    size_t n_targets;
    bm_answer_rule answers;
    bool follow;
} bm_query_settings;

/* settings of the commands of an index */
typedef struct bm_index_settings {
    bm_index_store store;
    bool unique, follow;
    double threshold;               /* for `unique`; 0: the index's own threshold */
    const struct bm_out_kind *kind; /* the output kind of an index; NULL until the job sets it */
    bm_query_settings query;
} bm_index_settings;
