/* SPDX-License-Identifier: Apache-2.0 */
/* record.h -- one record of the inputs, as passed to a bm_record_fn.
 *
 * A record is a line, a row, or a file. Parsed in full it is a document with an id and a text (or,
 * from arrays of hashes, its shingle hashes), or it is bad. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/error.h"

/* Every pointer is valid during the callback only. */
typedef struct bm_record {
    uint32_t file;
    uint64_t line;          /* where the record begins, from 1; in a table its row */
    uint64_t number;        /* its index in a JSON array, from 1; other formats: 0 */
    bm_str raw;             /* its bytes as read, with its line ending if it has one; of a record
                            longer than a document may be, only the first bytes; data NULL: the
                            source has no such bytes */
    uint64_t place;         /* offset of its first byte in the file, if it can be read again from
                               there (bm_batch_source.reads_again); else undefined */
    bool is_header;         /* a header row, or the byte order mark of an array (only in a split,
                            never in a full parse) */
    bool bad;               /* only file, line, raw, reason and n_behind are set */
    const char *reason;     /* "what is wrong (what was expected)" */
    uint64_t n_behind;      /* for a bad csv row: the lines after its first that a quote
                             * swallowed */
    bm_str id;              /* valid UTF-8, unescaped; FILE:LINE (in an array FILE:N) if it has none
                               of its own */
    bm_str text;            /* valid UTF-8 */
    uint64_t text_bytes;    /* bytes of the text as read (JSON: after unescaping), before repair */
    bm_str as_read;         /* the text before repair; data NULL if it needed none */
    uint64_t n_invalid;     /* U+FFFD written in place of invalid bytes */
    const uint64_t *hashes; /* from sources without texts: its shingle hashes instead of a text, */
    size_t n_hashes;        /* in order, with repeats */
    bm_str keep_key;        /* if fields rank it: its key (keep_key.h) */
    const uint64_t *keys;   /* from sources of band keys, instead of both: source.n_keys of them */
    uint64_t entry; /* the number of its text in a dictionary: equal numbers mean equal texts; 0:
                     * none */
    /* the parser that made it, if it has bytes of its own (parser.h); else NULL */
    struct bm_parser *parser;
    /* for a row that may have several texts: its texts; else NULL */
    const struct bm_text_part *parts;
    size_t n_parts;
    bool nameless; /* it has no id (bm_batch_parser.own_ids) */
} bm_record;

/* Report a bad record that ends the run: BM_ERR_INPUT with its reason, and advice on how to go on
 * without it. */
static inline bm_status bm_fail_bad_record(const char *file, const bm_record *record, bm_error *err)
{
    (void)bm_fail_at(err, BM_ERR_INPUT, file, record->line, "%s", record->reason);
    bm_error_advise(err, "`on_error` skip uses the other records");
    return BM_ERR_INPUT;
}

/* Where to read a record again. */
typedef struct bm_record_place {
    uint32_t file;
    uint64_t line, place, text_bytes; /* as in bm_record */
} bm_record_place;

/* Any status except BM_OK stops the parser, which returns it. */
typedef bm_status (*bm_record_fn)(void *ctx, const bm_record *record, bm_error *err);
