/* record_room.h -- memory of who has one record at a time, and of tables that were read from a directory: the
 * passes that read inputs again (`dedup`'s second one, those of `filter`), and lines that are followed.
 *
 * What a record takes that is longer than a batch is itself, what is read behind it, copies of its
 * text where it is parsed, and joined text and hashes where it is shingled. The ingest, which has many in flight, has a gate of
 * its own. */
#ifndef BM_CONTEXT_RECORD_ROOM_H
#define BM_CONTEXT_RECORD_ROOM_H

#include "input/long_gate.h"
#include "job/job_context.h"

typedef struct bm_record_room {
    const bm_job_context *job; /* borrowed */
    uint64_t copies;           /* of a record's text at most */
    bool shingles;             /* it is shingled while it is held */
    bm_long_gate gate;         /* for the limits of the source */
} bm_record_room;

typedef enum bm_record_use {
    BM_RECORDS_SPLIT,
    BM_RECORDS_PARSED,
    BM_RECORDS_SHINGLED /* parsed, and shingled one by one */
} bm_record_use;

/* `out` stays where it is: its gate points to it. */
void bm_record_room_init(const bm_job_context *job, bm_record_use use, bm_record_room *out);
/* Bytes that the shingler may use for a record of so many, which is held; 0: any number. */
uint64_t bm_record_room_left(const bm_record_room *room, uint64_t record_bytes);
/* BM_ERR_NOMEM: shingling the record takes `shingling` bytes, more than is left. */
bm_status bm_record_room_refuse(const bm_record_room *room, const bm_long_record *record,
                                uint64_t shingling, bm_error *err);

/* Read the inputs, which are open, on this thread: each record parsed, its text not cut. One batch, or one record, is in memory.
 * Ends once *enough, which is asked before each batch (NULL: never). */
bm_status bm_records_read(bm_job_context *job, bm_record_fn fn, void *ctx, const bool *enough,
                          bm_error *err);

/* Bytes that such tables may take; 0: there is no limit. Names the least `memory` to work with, where
 * there is less. */
bm_status bm_table_room(const bm_settings *settings, uint64_t *out, bm_error *err);
/* They would take `bytes`: BM_ERR_NOMEM, naming `what` they are and a `memory` that is enough. */
bm_status bm_table_room_refuse(const bm_settings *settings, const char *what, uint64_t bytes,
                               bm_error *err);

#endif
