/* SPDX-License-Identifier: Apache-2.0 */
/* record.h -- one record of the inputs, as passed to a bm_record_fn.
 *
 * A record is a line, a row, an element of a JSON array, a WARC record, or a file. A record parsed
 * in full is either a document or bad. A document has an id and a text, or, from arrays of hashes,
 * its shingle hashes. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/error.h"

/* Every pointer is valid during the callback only. */
typedef struct bm_record {
    uint32_t file;
    uint64_t line;   /* line on which the record begins, from 1; in a table: the row's number */
    uint64_t number; /* index of the record in a JSON array, from 1; other formats: 0 */
    /* The record's bytes as read, with the line ending if there is one. If the record is longer
     * than a document may be, only its first bytes. data NULL: the source has no such bytes. */
    bm_str raw;
    /* Offset of the record's first byte in the file, if the source can read the record again from
     * there (bm_batch_source.reads_again); else undefined. */
    uint64_t place;
    bool is_header;     /* a header row, or the byte order mark of an array; the record then comes
                         * from a split, never from a full parse */
    bool bad;           /* only file, line, raw, reason and n_behind are set */
    const char *reason; /* the error, and in parentheses what was expected */
    uint64_t n_behind;  /* of a bad csv row: how many more lines a quote made part of the row */
    /* Valid UTF-8, unescaped. A record without an id of its own gets FILE:LINE, or in an array
     * FILE:N. */
    bm_str id;
    bm_str text;         /* valid UTF-8 */
    uint64_t text_bytes; /* bytes of the text as read (JSON: after unescaping), before repair */
    bm_str as_read;      /* the text before repair; data NULL: no repair was needed */
    uint64_t n_invalid;  /* number of U+FFFD that replace invalid bytes */
    /* from sources without texts: the record's shingle hashes, in order, with repeats; `text` is
     * then empty */
    const uint64_t *hashes;
    size_t n_hashes;
    bm_str keep_key; /* the ranking key (keep_key.h), if records are ranked by fields */
    /* From sources of band keys, instead of text and hashes: bm_batch_source.n_keys band keys. */
    const uint64_t *keys;
    /* Number of the record's text in a dictionary, from 1. Equal numbers mean equal texts. 0: there
     * is no dictionary. */
    uint64_t entry;
    /* The parser that made the record, if the record has bytes of its own (parser.h); else NULL. */
    struct bm_parser *parser;
    /* the texts of a row that may have several; else NULL */
    const struct bm_text_part *parts;
    size_t n_parts;
    bool nameless; /* the record has no id, and none was made (bm_batch_parser.own_ids) */
} bm_record;

/* The position of a record in the inputs, for reading it again. */
typedef struct bm_record_place {
    uint32_t file;
    uint64_t line, place, text_bytes; /* as in bm_record */
} bm_record_place;

/* If the callback returns a status other than BM_OK, the parser stops and returns that status. */
typedef bm_status (*bm_record_fn)(void *ctx, const bm_record *record, bm_error *err);
