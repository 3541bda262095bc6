/* SPDX-License-Identifier: Apache-2.0 */
/* record.h -- one record of the inputs, as it is handed to whoever reads them.
 *
 * A record is a line, a row, a file; read in full it is a document with an id and a text (or, from
 * arrays of hashes, with its shingle hashes), or it is bad. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/error.h"

/* Every pointer is valid during the callback only. */
typedef struct bm_record {
    uint32_t file;
    uint64_t line;          /* where the record begins, from 1; of a table its row */
    uint64_t number;        /* which element of its array it is, from 1; of other formats 0 */
    bm_str raw;             /* its bytes as read, with its line ending if it has one (of a record
                            longer than a document may be its first bytes only); data NULL where the
                            source has no such bytes */
    uint64_t place;         /* of its first byte in the file, where it can be read again from there
                               (bm_batch_source.reads_again); else anything */
    bool is_header;         /* a header row, or the byte order mark of an array (split only; never
                            given in full parsing) */
    bool bad;               /* only file, line, raw, reason and n_behind are set */
    const char *reason;     /* "what is wrong (what was expected)" */
    uint64_t n_behind;      /* of a bad row of csv: lines after its first that a quote swallowed */
    bm_str id;              /* valid UTF-8, unescaped; FILE:LINE, of elements FILE:N, where it has
                               none of its own */
    bm_str text;            /* valid UTF-8 */
    uint64_t text_bytes;    /* of the text as read (JSON: after unescaping), before repair */
    bm_str as_read;         /* the text before repair, where it was repaired; else without data */
    uint64_t n_invalid;     /* U+FFFD written in place of invalid bytes */
    const uint64_t *hashes; /* instead of a text, from sources without texts: its shingle hashes, */
    size_t n_hashes;        /* in order, with repeats */
    bm_str keep_key;        /* where fields rank it: keep_key.h */
    const uint64_t
        *keys;      /* instead of both, from sources of band keys: as many as the source has */
    uint64_t entry; /* the number of a text of a dictionary, so that equal numbers are equal texts;
                     * or 0 */
    /* that made it, of records with bytes of their own (parser.h); else NULL */
    struct bm_parser *parser;
    /* of a row: its texts, where it may have several; else NULL */
    const struct bm_text_part *parts;
    size_t n_parts;
    bool nameless; /* it has no id (bm_batch_parser.own_ids) */
} bm_record;

/* A bad record ends the run: BM_ERR_INPUT with its reason, and with the way to go on without it. */
static inline bm_status bm_fail_bad_record(const char *file, const bm_record *record, bm_error *err)
{
    (void)bm_fail_at(err, BM_ERR_INPUT, file, record->line, "%s", record->reason);
    bm_error_advise(err, "`on_error` skip uses the other records");
    return BM_ERR_INPUT;
}

/* The place of a record that is to be read again. */
typedef struct bm_record_place {
    uint32_t file;
    uint64_t line, place, text_bytes; /* as the record had them */
} bm_record_place;

/* Anything but BM_OK stops the parser, which returns it. */
typedef bm_status (*bm_record_fn)(void *ctx, const bm_record *record, bm_error *err);
