/* SPDX-License-Identifier: Apache-2.0 */
/* batch_source.h -- where documents come from: one table of functions for records of text files,
 * arrays of shingle hashes, and columns of tables.
 *
 *     source    begin  ->  next, next, next … -> end          one thread
 *                            |
 *                         batch, still raw
 *                            |
 *     parser               parse  ->  a callback a document   any thread, a parser each
 *                          split  ->  a callback a record, its bytes only
 *
 * A source may be begun again: then it reads its inputs once more from the first record on, as the
 * second pass does to copy kept records.
 *
 * Records that an earlier run delivered are passed over: bm_batch_source_skip sets how many. They
 * are read again, so that the digests of the inputs come out, and counted, but not parsed. A batch
 * that lies wholly in them is dropped; of the one in which they end the parser gives the rest. The
 * same records come in the same order whatever the limits of batches, so a number of records is a
 * place in the inputs. */
#pragma once

#include <pthread.h>

#include <bandmill/job.h>

#include "input/input_digest.h"
#include "input/input_set.h"
#include "input/raw_batch.h"
#include "input/record.h"

/* A source reads it and a parser turns it into documents. Its row's own batch begins with this. */
typedef struct bm_source_batch {
    uint64_t bytes_read;    /* of the inputs, as stored, up to here; 0: not known */
    size_t passed_over;     /* records at its beginning that the parser does not give */
    bm_content_place place; /* after its last record, where limits.places asks for it */
} bm_source_batch;

/* When a batch is full. One document is always taken, however long it is. */
typedef struct bm_batch_limits {
    size_t bytes;  /* of records or texts */
    size_t hashes; /* of sources without texts */
    uint32_t docs; /* 0: no limit */
    /* Asked about a document longer than `bytes`; NULL: any may be held. */
    const bm_long_gate *gate;
    /* Sources of records of text files: tell the place of each batch, or also (places->known)
     * whether the inputs are the same before this place; borrowed; NULL: neither. */
    const bm_content_place *places;
    bool records_only; /* batches will be split, not parsed */
    /* Of tables, if `helped`: the most bytes of rows that one thread reads in one go, beside
     * others, and divides into several batches; 0: none. */
    size_t range_bytes;
    /* Several threads call `next` in turn. A thread that waits for its turn calls `help` meanwhile,
     * and a thread that got a batch calls `fill` at once. */
    bool helped;
} bm_batch_limits;

typedef struct bm_batch_source bm_batch_source;
typedef struct bm_batch_parser bm_batch_parser;

typedef struct bm_batch_source_ops {
    const char *name; /* "records", "hashes", "columns", "keys" */
    /* Its documents are texts, which have to be cut and hashed, by us or by a device; else they are
     * shingle hashes already, or band keys. */
    bool has_text;
    bool places; /* tells places in its inputs, so that a job can be sealed as it goes */
    /* The formats of the inputs. */
    bool (*reads)(bm_format format);
    bm_status (*open)(bm_input_set *inputs, bm_batch_source **out, bm_error *err);
    bm_status (*begin)(bm_batch_source *source, const bm_batch_limits *limits, bm_error *err);
    /* *out is NULL at the end. */
    bm_status (*next)(bm_batch_source *source, bm_source_batch **out, bm_error *err);
    /* Read what the batch has to hold, beside other fills and `next`, if the source was begun
     * `helped`; *in_turn is increased by the seconds for which no other fill could go on. NULL: it
     * is all there. */
    bm_status (*fill)(bm_batch_source *source, bm_source_batch *batch, double *in_turn,
                      bm_error *err);
    /* While another thread calls `next`: do a small part of its later work. False: there is none.
     * NULL: there never is any. */
    bool (*help)(bm_batch_source *source);
    /* How many records has a batch, bad ones too? */
    bm_status (*count)(bm_batch_source *source, const bm_source_batch *batch, uint64_t *n,
                       bm_error *err);
    /* All was parsed or counted: is each file from *file on of its format? Else BM_ERR_INPUT, and
     * *file is the one after it. *n_other grows by the records that are no documents. NULL:
     * yes. */
    bm_status (*check)(bm_batch_source *source, uint32_t *file, uint64_t *n_other, bm_error *err);
    void (*end)(bm_batch_source *source);
    void (*free_batch)(bm_source_batch *batch);
    void (*close)(bm_batch_source *source);
    bm_status (*open_parser)(const bm_batch_source *source, bm_batch_parser **out, bm_error *err);
    bm_status (*parse)(bm_batch_parser *parser, const bm_source_batch *batch, bm_record_fn fn,
                       void *ctx, bm_error *err);
    /* Read records again, and parse them; where source.reads_again. */
    bm_status (*parse_again)(bm_batch_parser *parser, const bm_record_place *places, size_t n,
                             bm_record_fn fn, void *ctx, bm_error *err);
    /* NULL: its records have no bytes that could be copied. */
    bm_status (*split)(bm_batch_parser *parser, const bm_source_batch *batch, bm_record_fn fn,
                       void *ctx, bm_error *err);
    void (*close_parser)(bm_batch_parser *parser);
} bm_batch_source_ops;

/* Every source begins with this; the rest belongs to its row. */
struct bm_batch_source {
    const bm_batch_source_ops *ops;
    bm_input_set *inputs;   /* borrowed; NULL: a stream in memory */
    const char *name;       /* the name of the stream, for ids and messages */
    const char *extra_path; /* a file that is read beside the inputs; NULL: none */
    uint32_t n_keys;        /* band keys of each record, instead of a text; 0: none */
    bool copies;            /* kept records can be copied, with `split` */
    bool reads_again;       /* any record can be read again by its place (parser.h) */
    /* Set by who opened it: documents that are hashes already are signed by this scheme, which
     * takes their low halves; NULL: they are not, or the scheme takes all of them. */
    const bm_scheme *low_halves;
    /* Of a table in memory, once it is read. `duplicate_ids` number makes texts of integers. */
    bm_id_kind ids;
    bool begun_twice;    /* set by who opened it: a stream in memory holds its arrays for that */
    uint64_t skip, left; /* records to pass over: asked for, still to come */
};

/* Every parser begins with this. */
struct bm_batch_parser {
    const bm_batch_source_ops *ops;
    /* Set by who opened it: records without an id of their own need none, and may be nameless. */
    bool own_ids;
};

void bm_batch_source_close(bm_batch_source *source); /* NULL is fine */
/* Name of a file, for ids and messages; bytes of all of them, 0: not known. */
const char *bm_batch_source_file(const bm_batch_source *source, uint32_t file);
uint64_t bm_batch_source_total_bytes(const bm_batch_source *source);

/* Begin to read, passing over the first `skip` records (bad ones count; header rows and blank lines
 * are none). */
bm_status bm_batch_source_begin(bm_batch_source *source, const bm_batch_limits *limits,
                                uint64_t skip, bm_error *err);

/* Lock what lets one thread at a time call next; as long as another one has it, help that. The
 * source was begun `helped`. */
void bm_batch_source_lock(bm_batch_source *source, pthread_mutex_t *lock);

/* Read the batch, beside others, and set its bytes_read and place. Whoever got it from a source
 * that was begun `helped` calls this before anything else that may wait. Seconds that others had to
 * wait for are added to *in_turn. */
bm_status bm_batch_source_fill(bm_batch_source *source, bm_source_batch *batch, double *in_turn,
                               bm_error *err);

typedef enum bm_batch_got {
    BM_BATCH_READ,   /* there is one to parse */
    BM_BATCH_PASSED, /* one was dropped, since all of it is passed over: ask again */
    BM_BATCH_END
} bm_batch_got;

typedef struct bm_batch_next {
    bm_batch_got got;
    bm_source_batch *batch; /* READ: taken by the caller (bm_batch_source_free_batch); else NULL */
    uint64_t bytes_read;    /* as of the batch that was dropped, or read and not to be filled */
} bm_batch_next;

/* BM_ERR_FORMAT: the inputs hold fewer records than are to be passed over. */
bm_status bm_batch_source_next(bm_batch_source *source, bm_batch_next *out, bm_error *err);
/* Give back what reading holds: open files, buffers. Nothing happens where it was not begun. */
void bm_batch_source_end(bm_batch_source *source);
void bm_batch_source_free_batch(const bm_batch_source *source, bm_source_batch *batch);

/* A parser is for batches of this source, which it borrows. */
bm_status bm_batch_parser_open(const bm_batch_source *source, bm_batch_parser **out, bm_error *err);
void bm_batch_parser_close(bm_batch_parser *parser); /* NULL is fine */
/* Each document or bad record of the batch, in order, but for those that are passed over. */
bm_status bm_batch_parser_run(bm_batch_parser *parser, const bm_source_batch *batch,
                              bm_record_fn fn, void *ctx, bm_error *err);
/* Each record of the batch and each header row, with its bytes but not parsed; only where the
 * source `copies`. */
bm_status bm_batch_parser_split(bm_batch_parser *parser, const bm_source_batch *batch,
                                bm_record_fn fn, void *ctx, bm_error *err);
