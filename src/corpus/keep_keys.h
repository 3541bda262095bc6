/* SPDX-License-Identifier: Apache-2.0 */
/* keep_keys.h -- collects the keys by which fields rank documents (input/keep_key.h), and makes the
 * ranks of the documents from them.
 *
 * Keys are added to a sorter that may use files. If the job saves its progress, keys that are not
 * saved yet are also stored separately, in document order, until they are saved. This is necessary
 * because the sorter frees its keys when ranks are made, and the job may be stopped long after
 * that. The last unsaved keys are in memory, earlier ones in a file. One thread at a time. */
#pragma once

#include "base/meter.h"
#include "lsh/groups.h"
#include "model/keep_rules.h"
#include "sign/ingest.h"
#include "spill/sorted_runs.h"
#include "spill/spill_file.h"

/* For a rule on a field: numbers of documents that it could not compare. */
typedef struct bm_keep_counts {
    const bm_keep_rule *rule;
    uint64_t absent;   /* the document has no such field */
    uint64_t missing;  /* the field has no value, or is absent */
    uint64_t other;    /* the value is of a type that has no order */
    uint64_t unlisted; /* for `order`: the value is not in the rule's list */
} bm_keep_counts;

/* Unsaved keys: for each document the length of its key (uint32_t), then the key. */
typedef struct bm_unsaved_keys {
    bm_buf last;         /* keys that are not in the file */
    bm_spill_file *file; /* NULL: no file */
    uint64_t *places;    /* offsets of the records in the file */
    uint64_t *lens;      /* bytes of these records */
    size_t n, cap_places, cap_lens;
} bm_unsaved_keys;

typedef struct bm_keep_keys {
    const bm_keep_rules *rules; /* borrowed; NULL: no field ranks documents */
    const char *temp_dir;       /* borrowed */
    bm_sorted_runs *sorter;     /* NULL: ranks were made */
    size_t n;                   /* number of keys */
    bool counts_only;           /* documents are not ranked */
    bool saves;                 /* the job saves its progress, so `unsaved` is used */
    bm_unsaved_keys unsaved;
    /* one for each of the rules->n_by_field rules, over the documents so far */
    bm_keep_counts *counts;
    /* names of the first document's fields, if it does not have a field of a rule */
    bm_buf names;
} bm_keep_keys; /* {0} is empty */

/* Bytes of memory that the sorter may use, if the whole job may use `total`. */
size_t bm_keep_keys_memory(uint64_t total);
/* If temp_dir is NULL, all keys stay in memory. */
bm_status bm_keep_keys_open(const bm_keep_rules *rules, const char *temp_dir, uint64_t memory,
                            bm_keep_keys *out, bm_error *err);
/* Only count what documents have in their fields. */
bm_status bm_keep_keys_open_counts(const bm_keep_rules *rules, bm_keep_keys *out, bm_error *err);
void bm_keep_keys_close(bm_keep_keys *keys);
/* Add the key of the next document. */
bm_status bm_keep_keys_add(bm_keep_keys *keys, bm_str key, bm_error *err);
bm_status bm_keep_keys_add_batch(bm_keep_keys *keys, const bm_ingest_batch *batch, bm_error *err);
/* Reads the unsaved keys in document order. Start with {0}, and end with
 * bm_buf_reset(&reader.block). */
typedef struct bm_unsaved_reader {
    size_t next;    /* the next record of the file */
    bool in_memory; /* all records of the file were read */
    size_t at;      /* offset in `block`; if in_memory, in the unsaved keys in memory */
    bm_buf block;
} bm_unsaved_reader;

/* Append the keys of the next n documents to `to`. BM_ERR_INTERNAL: there are fewer. */
bm_status bm_keep_keys_copy_unsaved(const bm_keep_keys *keys, bm_unsaved_reader *reader, size_t n,
                                    bm_buf *to, bm_error *err);
/* Drop the unsaved keys, because they were saved, or will never be. */
void bm_keep_keys_forget(bm_keep_keys *keys);
/* Call this after all keys were added. BM_ERR_INPUT: no document has a field that a rule names. */
bm_status bm_keep_keys_check(const bm_keep_keys *keys, bm_error *err);
/* Log how many documents rules could not compare. */
void bm_keep_keys_log(const bm_keep_keys *keys, bm_meter *meter);
/* Check the fields, and make the ranks of the documents. Frees the sorter and its keys, but not the
 * unsaved keys. */
bm_status bm_keep_keys_rank(bm_keep_keys *keys, bm_keep_rank *out, bm_error *err);
