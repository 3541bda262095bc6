/* keep_keys.h -- the keys by which fields rank documents (input/keep_key.h), gathered as documents
 * come, and the ranks that they give in the end.
 *
 * Keys go to a sorter that may use files. Where a job is sealed as it goes, those that were not
 * saved yet are held too, in the order of the documents. Threads: one at a time. */
#pragma once

#include "lsh/groups.h"
#include "model/keep_rules.h"
#include "sign/ingest.h"
#include "spill/sorted_runs.h"

/* Documents that a rule on a field could not compare. */
typedef struct bm_keep_counts {
    const bm_keep_rule *rule;
    uint64_t missing;  /* no value */
    uint64_t other;    /* of a type that has no order */
    uint64_t unlisted; /* `order`: not among its values */
} bm_keep_counts;

typedef struct bm_keep_keys {
    const bm_keep_rules *rules; /* borrowed; NULL: no field ranks documents */
    bm_sorted_bytes *sorter;
    size_t n;
    bool saves;             /* somebody saves them: */
    bm_buf unsaved;         /* of each document that was not: the length (uint32_t), the key */
    bm_keep_counts *counts; /* rules->n_by_field, of the documents so far */
} bm_keep_keys;             /* {0} is empty */

/* Bytes of memory that the sorter may use, of so many for the whole job. */
size_t bm_keep_keys_memory(uint64_t total);
/* `temp_dir` NULL: all stays in memory. */
bm_status bm_keep_keys_open(const bm_keep_rules *rules, const char *temp_dir, uint64_t memory,
                            bm_keep_keys *out, bm_error *err);
void bm_keep_keys_close(bm_keep_keys *keys);
/* The key of the next document. */
bm_status bm_keep_keys_add(bm_keep_keys *keys, bm_str key, bm_error *err);
bm_status bm_keep_keys_add_batch(bm_keep_keys *keys, const bm_ingest_batch *batch, bm_error *err);
/* Where the keys of the next n documents end in `unsaved`, of which the first begins at `at`. */
size_t bm_keep_keys_unsaved(const bm_keep_keys *keys, size_t at, size_t n);
/* All are there: rank the documents. Frees the keys. */
bm_status bm_keep_keys_rank(bm_keep_keys *keys, bm_keep_rank *out, bm_error *err);
