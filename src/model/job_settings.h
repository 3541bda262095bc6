/* SPDX-License-Identifier: Apache-2.0 */
/* job_settings.h -- settings that only some jobs have: of pairing, of outputs, and of queries to an
 * index. In the public options they are single fields. If a field is written to reports, compared
 * or refused, it has a row in field_rows.c. */
#pragma once

#include <bandmill/exchange.h>
#include <bandmill/index.h>
#include <bandmill/types.h>

/* The default keep order of CONTAINED, as reports show it. The document with the most distinct
 * shingles is preferred, then the longest, then the first. */
#define BM_KEEP_BY_SHINGLES "shingles,longest"

/* Settings that choose pairs, and the document of a group that is kept. Settings that are passed on
 * unchanged are in options/rows.def. `verify` is AUTO until a value was chosen for it. */
typedef struct bm_pair_settings {
#define PAIR_SETTING(type, name) type name;
#include "options/rows.def"
    bm_candidate_rule candidates;
    const char *keep; /* the list of keep rules; NULL: the rule `first` */
    /* an index, signatures or inputs that have the known documents; NULL: none */
    const char *const *against;
    size_t n_against;
    /* text fields of the known documents; NULL: those of the job's inputs */
    const char *const *against_text_fields;
    size_t n_against_text_fields;
    const char *against_id_field; /* id field of the known documents; NULL: that of the inputs */
    /* a table of known documents, used instead of `against`; NULL: none */
    struct ArrowArrayStream *against_stream;
    uint64_t against_row_ids; /* row_ids of against_stream */
    bool by_shingles;         /* `keep` is BM_KEEP_BY_SHINGLES instead of a list of rules */
    double containment;       /* the threshold of CONTAINED; 0 for other jobs */
    /* threshold for known documents in an index; 0: the threshold of the index */
    double against_threshold;
    /* identifies the version of the known documents; set when they are opened */
    char against_state[128];
} bm_pair_settings;

/* settings of export */
typedef struct bm_exchange_settings {
    bm_exchange to;
    bm_export_what what;
} bm_exchange_settings;

/* Results that are written in addition to the rows and the summary. Only dedup writes `removed`
 * (bm_settings_write_removed). */
typedef struct bm_result_settings {
#define RESULT_SETTING(type, name) type name;
#include "options/rows.def"
    bool band_keys;
    bool json;         /* rows passed to `write` are JSON Lines */
    bool all_digits;   /* similarities have all digits in rows that are not JSON Lines */
    bm_write_fn write; /* receives the rows or the kept records; NULL: they are written to files */
    void *write_ctx;
    /* shard: which shard of the inputs is read; n_shards: number of shards (0: all inputs are
     * read) */
    uint32_t shard, n_shards;
    bm_exchange_settings exchange;
} bm_result_settings;

/* settings of query */
typedef struct bm_query_settings {
    const char *index; /* NULL: `targets` are searched */
    const char *const *targets;
    size_t n_targets;
    bm_answer_rule answers;
    bool follow;
} bm_query_settings;

/* settings of the commands of an index */
typedef struct bm_index_settings {
    bm_index_store store;
    bool unique, follow;
    double threshold; /* for `unique`; 0: the threshold of the index */
    /* the kind of output that an index is; NULL until the job sets it */
    const struct bm_out_kind *kind;
    bm_query_settings query;
} bm_index_settings;
