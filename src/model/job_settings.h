/* SPDX-License-Identifier: Apache-2.0 */
/* job_settings.h -- settings of some jobs only: of pairing, of outputs, and of questions to an
 * index. Public options have them one by one; a field that is written to reports, compared or
 * refused has a row in field_rows.c. */
#pragma once

#include <bandmill/exchange.h>
#include <bandmill/index.h>
#include <bandmill/types.h>

/* The order of CONTAINED where none is asked for, as reports have it: most distinct shingles,
 * longest, first. */
#define BM_KEEP_BY_SHINGLES "shingles,longest"

/* These settings choose pairs, and the document of a group that stays. Settings that are passed on
 * as given are in options/rows.def; `verify` is AUTO until it is resolved.
 * */
typedef struct bm_pair_settings {
#define PAIR_SETTING(type, name) type name;
#include "options/rows.def"
    bm_candidate_rule candidates;
    const char *keep;           /* the list of rules; NULL: first */
    const char *const *against; /* an index, signatures or inputs of known documents; NULL: none */
    size_t n_against;
    const char *const *against_text_fields; /* of such inputs; NULL: the fields of the inputs */
    size_t n_against_text_fields;
    const char *against_id_field;            /* likewise */
    struct ArrowArrayStream *against_stream; /* instead of these inputs; NULL: none */
    uint64_t against_row_ids;                /* of its rows */
    bool by_shingles;         /* `keep` is BM_KEEP_BY_SHINGLES, which is no list of rules */
    double containment;       /* of CONTAINED; else 0 */
    double against_threshold; /* with an index; 0: the threshold of the index */
    char against_state[128];  /* which of them exist: known once they are open */
} bm_pair_settings;

/* settings of export */
typedef struct bm_exchange_settings {
    bm_exchange to;
    bm_export_what what;
} bm_exchange_settings;

/* These results are written beside the rows and the summary: `removed` by dedup alone
 * (bm_settings_write_removed). */
typedef struct bm_result_settings {
#define RESULT_SETTING(type, name) type name;
#include "options/rows.def"
    bool band_keys;
    bool json;         /* rows as JSON Lines, where they go to `write` */
    bool all_digits;   /* of similarities in other rows */
    bm_write_fn write; /* of rows, or of the kept records; NULL: they go to files */
    void *write_ctx;
    uint32_t shard, n_shards; /* of the inputs; 0: all of them */
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
    double threshold;               /* of unique; 0: the threshold of the index */
    const struct bm_out_kind *kind; /* an index as an output; NULL: until the job sets it */
    bm_query_settings query;
} bm_index_settings;
