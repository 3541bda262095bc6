/* SPDX-License-Identifier: Apache-2.0 */
/* keep_keys.h -- ranks documents by their fields. Each document has a key made from these fields
 * (input/keep_key.h); the keys are collected and sorted.
 *
 * Keys are added to a sorter that may use files. If the job saves its progress, each key is also
 * stored separately until it is saved, in document order: the last of these keys in memory, earlier
 * ones in a file. The sorter cannot provide them, because it frees its keys when ranks are made,
 * and the job may be stopped long after that. One thread at a time. */
#pragma once

#include "base/meter.h"
#include "lsh/groups.h"
#include "model/keep_rules.h"
#include "sign/ingest.h"
#include "spill/sorted_runs.h"
#include "spill/spill_file.h"

/* For a rule on a field: how many documents it could not compare, by reason. */
typedef struct bm_keep_counts {
    const bm_keep_rule *rule;
    uint64_t absent;   /* the document has no such field */
    uint64_t missing;  /* the field has no value, or the document has no such field */
    uint64_t other;    /* the field's value has a type without an order */
    uint64_t unlisted; /* for `order`: the value is not in the rule's list */
} bm_keep_counts;

/* The keys that were not saved yet. For each document: the length of its key (uint32_t), then the
 * key. */
typedef struct bm_unsaved_keys {
    bm_buf last;         /* keys that are not in the file */
    bm_spill_file *file; /* the earlier keys, in records; NULL: all are in `last` */
    uint64_t *places;    /* offset of each record in the file */
    uint64_t *lens;      /* bytes of each record */
    size_t n, cap_places, cap_lens;
} bm_unsaved_keys;

typedef struct bm_keep_keys {
    const bm_keep_rules *rules; /* borrowed; NULL: documents are not ranked by fields */
    const char *temp_dir;       /* borrowed */
    bm_sorted_runs *sorter;     /* NULL: ranks were made already */
    size_t n;                   /* number of keys */
    bool counts_only;           /* fields are only counted, and documents are not ranked */
    bool saves;                 /* the job saves its progress, so keys are added to `unsaved` too */
    bm_unsaved_keys unsaved;
    /* one for each of the rules->n_by_field rules; counts the documents so far */
    bm_keep_counts *counts;
    /* if the first document lacks a field of a rule: the names of the fields that it has */
    bm_buf names;
} bm_keep_keys; /* start with {0} */

/* Bytes that the sorter may use if the whole job may use `total`. */
size_t bm_keep_keys_memory(uint64_t total);
/* Start collecting keys for these rules. `memory`: the memory of the whole job. If temp_dir is
 * NULL, all keys stay in memory. */
bm_status bm_keep_keys_open(const bm_keep_rules *rules, const char *temp_dir, uint64_t memory,
                            bm_keep_keys *out, bm_error *err);
/* Like bm_keep_keys_open, but only counts which fields documents have. */
bm_status bm_keep_keys_open_counts(const bm_keep_rules *rules, bm_keep_keys *out, bm_error *err);
void bm_keep_keys_close(bm_keep_keys *keys);
/* Add the key of the next document. */
bm_status bm_keep_keys_add(bm_keep_keys *keys, bm_str key, bm_error *err);
bm_status bm_keep_keys_add_batch(bm_keep_keys *keys, const bm_ingest_batch *batch, bm_error *err);
/* Reads the unsaved keys in document order. Start with {0}, and end with
 * bm_buf_reset(&reader.block). */
typedef struct bm_unsaved_reader {
    size_t next;    /* index of the next record in the file */
    bool in_memory; /* all records of the file were read; the keys in memory follow */
    size_t at;      /* offset of the next key in `block` or, if in_memory, in the unsaved keys in
                     * memory */
    bm_buf block;
} bm_unsaved_reader;

/* Append the keys of the next n documents to `to`. BM_ERR_INTERNAL: fewer than n are left. */
bm_status bm_keep_keys_copy_unsaved(const bm_keep_keys *keys, bm_unsaved_reader *reader, size_t n,
                                    bm_buf *to, bm_error *err);
/* Drop the unsaved keys. Call this after they were saved, or if they will never be saved. */
void bm_keep_keys_forget(bm_keep_keys *keys);
/* Call this after all keys were added. BM_ERR_INPUT: a rule names a field that no document has. */
bm_status bm_keep_keys_check(const bm_keep_keys *keys, bm_error *err);
/* Log how many documents the rules could not compare. */
void bm_keep_keys_log(const bm_keep_keys *keys, bm_meter *meter);
/* Check the fields like bm_keep_keys_check, and make the ranks of the documents. Frees the sorter
 * and its keys, but not the unsaved keys. */
bm_status bm_keep_keys_rank(bm_keep_keys *keys, bm_keep_rank *out, bm_error *err);
