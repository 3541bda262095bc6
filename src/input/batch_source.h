/* SPDX-License-Identifier: Apache-2.0 */
/* batch_source.h -- the common interface of all sources of documents: records of text files, arrays
 * of shingle hashes, columns of tables. The interface is a table of functions.
 *
 *     source    begin  ->  next, next, next … -> end           one thread
 *                            |
 *                         batch, still raw
 *                            |
 *     parser               parse  ->  a callback per document  any thread, one parser per thread
 *                          split  ->  a callback per record, with its bytes only
 *
 * A source may be begun again. It then reads its inputs once more from the first record. The second
 * pass does so to copy kept records.
 *
 * A resumed job passes over the records that its earlier run delivered: bm_batch_source_begin takes
 * their number. These records are read again (the digests of the inputs need their bytes) and
 * counted, but not parsed. A batch that has only such records is dropped. If only the first records
 * of a batch are passed over, the parser delivers the others. The order of records does not depend
 * on the batch limits, so a number of records identifies a position in the inputs. */
#pragma once

#include <pthread.h>

#include <bandmill/job.h>

#include "input/input_digest.h"
#include "input/input_set.h"
#include "input/raw_batch.h"
#include "input/record.h"

/* A batch: a source fills it, and a parser makes documents of it. Each kind of source has a type of
 * batch that begins with this struct. */
typedef struct bm_source_batch {
    uint64_t bytes_read;    /* stored bytes of the inputs up to this batch's end; 0: unknown */
    size_t passed_over;     /* records at the beginning of the batch that the parser skips */
    bm_content_place place; /* the position after the last record, if limits.places is set */
} bm_source_batch;

/* Limits for the size of a batch, and how the source is read. A batch has at least one document,
 * even if that document exceeds a limit. */
typedef struct bm_batch_limits {
    size_t bytes;  /* bytes of records or texts */
    size_t hashes; /* hashes, for sources without texts */
    uint32_t docs; /* documents; 0: no limit */
    /* Called before a document longer than `bytes` is kept in memory. NULL: a document of any
     * length may be kept. */
    const bm_long_gate *gate;
    /* For record sources; borrowed. If not NULL, the source reports the position after each batch.
     * If places->known is set too, the source also verifies that the inputs before this position
     * are unchanged. */
    const bm_content_place *places;
    bool records_only; /* batches will be split, not parsed */
    /* For tables, if `helped` is set: the most bytes of a range of rows; 0: no ranges. Several
     * threads read ranges at the same time, and divide each range into several batches. */
    size_t range_bytes;
    /* Several threads call `next`, one at a time. A thread that waits for the lock calls `help`. A
     * thread that got a batch calls `fill` at once. */
    bool helped;
} bm_batch_limits;

typedef struct bm_batch_source bm_batch_source;
typedef struct bm_batch_parser bm_batch_parser;

typedef struct bm_batch_source_ops {
    const char *name; /* "records", "hashes", "columns", "keys" */
    /* Are the documents texts, which are still to be shingled and hashed? If not, they are shingle
     * hashes or band keys. */
    bool has_text;
    /* batches of this source have `place`, so that a job can be resumed after any batch */
    bool places;
    /* Does the source read inputs of this format? */
    bool (*reads)(bm_format format);
    bm_status (*open)(bm_input_set *inputs, bm_batch_source **out, bm_error *err);
    bm_status (*begin)(bm_batch_source *source, const bm_batch_limits *limits, bm_error *err);
    /* Get the next batch; *out is NULL at the end. */
    bm_status (*next)(bm_batch_source *source, bm_source_batch **out, bm_error *err);
    /* Read the bytes that the batch still lacks, if the source was begun `helped`. Other threads
     * may be in `fill` or `next` at the same time. *in_turn grows by the seconds during which this
     * call kept other fills waiting. NULL: `next` returns complete batches. */
    bm_status (*fill)(bm_batch_source *source, bm_source_batch *batch, double *in_turn,
                      bm_error *err);
    /* Do a small part of the work of later calls of `next`, while another thread is in `next`.
     * Returns false if there is no work now. NULL: there never is any work. */
    bool (*help)(bm_batch_source *source);
    /* Count the records of a batch, bad ones too. */
    bm_status (*count)(bm_batch_source *source, const bm_source_batch *batch, uint64_t *n,
                       bm_error *err);
    /* Call after everything was parsed or counted, to check that all files from *file on have the
     * expected format. If file n does not, returns BM_ERR_INPUT and sets *file to n + 1. *n_other
     * grows by the number of records that are not documents. NULL: there is nothing to check. */
    bm_status (*check)(bm_batch_source *source, uint32_t *file, uint64_t *n_other, bm_error *err);
    void (*end)(bm_batch_source *source);
    void (*free_batch)(bm_source_batch *batch);
    void (*close)(bm_batch_source *source);
    bm_status (*open_parser)(const bm_batch_source *source, bm_batch_parser **out, bm_error *err);
    bm_status (*parse)(bm_batch_parser *parser, const bm_source_batch *batch, bm_record_fn fn,
                       void *ctx, bm_error *err);
    /* Read records again at their offsets and parse them; only if source.reads_again. */
    bm_status (*parse_again)(bm_batch_parser *parser, const bm_record_place *places, size_t n,
                             bm_record_fn fn, void *ctx, bm_error *err);
    /* Call back for each record, with its bytes only. NULL: the records have no bytes that could be
     * copied. */
    bm_status (*split)(bm_batch_parser *parser, const bm_source_batch *batch, bm_record_fn fn,
                       void *ctx, bm_error *err);
    void (*close_parser)(bm_batch_parser *parser);
} bm_batch_source_ops;

/* The first member of every source; the other members depend on the kind of source. */
struct bm_batch_source {
    const bm_batch_source_ops *ops;
    bm_input_set *inputs;   /* borrowed; NULL: a stream in memory */
    const char *name;       /* the name of the stream, for ids and messages */
    const char *extra_path; /* a file read in addition to the inputs; NULL: none */
    uint32_t n_keys;        /* band keys per record, which then has no text; 0: none */
    bool copies;            /* kept records can be copied, with `split` */
    bool reads_again;       /* any record can be read again at its offset (parser.h) */
    /* The scheme that will sign the documents of hashes, if this scheme uses only the low 32 bits
     * of each hash; else NULL. Set by the opener of the source. */
    const bm_scheme *low_halves;
    /* Kind of the ids in a memory table, known once the table is read. Integers become texts if
     * repeated ids are numbered. */
    bm_id_kind ids;
    /* Set by the opener of the source: a stream in memory keeps its arrays for a second pass. */
    bool begun_twice;
    /* skip: records to pass over; left: number of these records not yet passed over */
    uint64_t skip, left;
};

/* The first member of every parser. */
struct bm_batch_parser {
    const bm_batch_source_ops *ops;
    /* Set by the opener of the parser. True: a record without an id gets none, and is marked
     * `nameless`. */
    bool own_ids;
};

void bm_batch_source_close(bm_batch_source *source); /* NULL is fine */
/* The name of a file, for ids and messages. */
const char *bm_batch_source_file(const bm_batch_source *source, uint32_t file);
/* Total stored bytes of all files; 0: unknown. */
uint64_t bm_batch_source_total_bytes(const bm_batch_source *source);

/* Begin to read, passing over the first `skip` records (bad records count, header rows and blank
 * lines do not). */
bm_status bm_batch_source_begin(bm_batch_source *source, const bm_batch_limits *limits,
                                uint64_t skip, bm_error *err);

/* Acquire `lock`, which a thread must hold to call `next`. While another thread holds the lock,
 * call `help`, as long as there is work for it. Only for a source that was begun `helped`. */
void bm_batch_source_lock(bm_batch_source *source, pthread_mutex_t *lock);

/* Read the bytes that the batch still lacks, if any, and set its bytes_read and `place`. Several
 * threads may call this at the same time. If the source was begun `helped`, a thread that got a
 * batch calls this before anything else that may wait. *in_turn grows by the seconds in which this
 * call kept other threads waiting. */
bm_status bm_batch_source_fill(bm_batch_source *source, bm_source_batch *batch, double *in_turn,
                               bm_error *err);

typedef enum bm_batch_got {
    BM_BATCH_READ,   /* there is a batch to parse */
    BM_BATCH_PASSED, /* all records of the batch are passed over, so it was dropped: call again */
    BM_BATCH_END
} bm_batch_got;

typedef struct bm_batch_next {
    bm_batch_got got;
    bm_source_batch *batch; /* READ: owned by the caller (bm_batch_source_free_batch); else NULL */
    uint64_t bytes_read;    /* bytes_read of the batch, even if it was dropped */
} bm_batch_next;

/* Get the next batch. BM_ERR_FORMAT: the inputs have fewer records than have to be passed over. */
bm_status bm_batch_source_next(bm_batch_source *source, bm_batch_next *out, bm_error *err);
/* Close the files and free the buffers used for reading. Does nothing if the source was not
 * begun. */
void bm_batch_source_end(bm_batch_source *source);
void bm_batch_source_free_batch(const bm_batch_source *source, bm_source_batch *batch);

/* Open a parser for batches of this source. The parser borrows the source. */
bm_status bm_batch_parser_open(const bm_batch_source *source, bm_batch_parser **out, bm_error *err);
void bm_batch_parser_close(bm_batch_parser *parser); /* NULL is fine */
/* Calls back for each document or bad record of the batch, in order, except records that are passed
 * over. */
bm_status bm_batch_parser_run(bm_batch_parser *parser, const bm_source_batch *batch,
                              bm_record_fn fn, void *ctx, bm_error *err);
/* Calls back for each header row and each record of the batch. Only their bytes are set, since
 * nothing is parsed. Only if the source `copies`. */
bm_status bm_batch_parser_split(bm_batch_parser *parser, const bm_source_batch *batch,
                                bm_record_fn fn, void *ctx, bm_error *err);

/* source_records -- the batch source of record files. The reader (reader.c) cuts the files, and
 * parsers parse the records. */

extern const bm_batch_source_ops bm_source_records;

typedef struct bm_records_batch {
    bm_source_batch base;
    bm_raw_batch *raw;
} bm_records_batch;
