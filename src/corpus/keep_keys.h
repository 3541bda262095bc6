/* SPDX-License-Identifier: Apache-2.0 */
/* keep_keys.h -- the keys by which fields rank documents (input/keep_key.h), gathered as documents
 * come, and the ranks that they give in the end.
 *
 * Keys go to a sorter that may use files. Where a job is sealed as it goes, those that were not
 * saved yet are held too, in the order of the documents, until they are saved: the sorter frees its
 * own when ranks are made, and the job may be stopped long after that. A block of the last ones is
 * in memory, those before in a file. Threads: one at a time. */
#pragma once

#include "lsh/groups.h"
#include "model/keep_rules.h"
#include "sign/ingest.h"
#include "spill/sorted_runs.h"
#include "spill/spill_file.h"

/* Documents that a rule on a field could not compare. */
typedef struct bm_keep_counts {
    const bm_keep_rule *rule;
    uint64_t absent;   /* no such field */
    uint64_t missing;  /* no value; the absent ones are among them */
    uint64_t other;    /* of a type that has no order */
    uint64_t unlisted; /* `order`: not among its values */
} bm_keep_counts;

/* Keys that were not saved, of each document its length (uint32_t) and the key. */
typedef struct bm_unsaved_keys {
    bm_buf last;         /* not in the file */
    bm_spill_file *file; /* NULL: none is there */
    uint64_t *places;    /* of its records, */
    uint64_t *lens;      /* and their lengths */
    size_t n, cap_places, cap_lens;
} bm_unsaved_keys;

typedef struct bm_keep_keys {
    const bm_keep_rules *rules; /* borrowed; NULL: no field ranks documents */
    const char *temp_dir;       /* borrowed */
    bm_sorted_runs *sorter;     /* NULL: ranks were made */
    size_t n;
    bool saves; /* somebody saves them: */
    bm_unsaved_keys unsaved;
    bm_keep_counts *counts; /* rules->n_by_field, of the documents so far */
    bm_buf names;           /* of fields of the first document, if it lacks one that a rule names */
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
/* Keys that were not saved, read in the order of their documents. {0} is the beginning,
 * bm_buf_reset(&reader.block) the end. */
typedef struct bm_unsaved_reader {
    size_t next; /* record of the file */
    bool in_memory;
    size_t at; /* in `block`, read from the file, or in the keys in memory */
    bm_buf block;
} bm_unsaved_reader;

/* Append the keys of the next n documents to `to`. BM_ERR_INTERNAL: there are not so many. */
bm_status bm_keep_keys_copy_unsaved(const bm_keep_keys *keys, bm_unsaved_reader *reader, size_t n,
                                    bm_buf *to, bm_error *err);
/* All are saved, or nobody will save them: forget them. */
void bm_keep_keys_forget(bm_keep_keys *keys);
/* All are there: rank the documents. BM_ERR_INPUT: none of them has a field that a rule names.
 * Frees the sorter's keys; those that were not saved stay. */
bm_status bm_keep_keys_rank(bm_keep_keys *keys, bm_keep_rank *out, bm_error *err);
