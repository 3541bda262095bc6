/* record_room.h -- memory of the passes that read inputs again (`dedup`'s second one, those of
 * `filter`): tables that were read from a directory, and one record at a time.
 *
 * What a record takes that is longer than a batch is itself, what is read behind it, and copies of its
 * text where it is parsed. The ingest, which has many in flight, has a gate of its own. */
#ifndef BM_CONTEXT_RECORD_ROOM_H
#define BM_CONTEXT_RECORD_ROOM_H

#include "io/input/long_gate.h"
#include "pipeline/context/job_context.h"

typedef struct bm_record_room {
    const bm_job_context *job; /* borrowed */
    uint64_t copies;           /* of a record's text at most */
    bm_long_gate gate;         /* for the limits of the source */
} bm_record_room;

/* `parses`: records are parsed, not only split. `out` stays where it is: its gate points to it. */
void bm_record_room_init(const bm_job_context *job, bool parses, bm_record_room *out);

/* Bytes that such tables may take; 0: there is no limit. Names the least `memory` to work with, where
 * there is less. */
bm_status bm_table_room(const bm_settings *settings, uint64_t *out, bm_error *err);
/* They would take `bytes`: BM_ERR_NOMEM, naming `what` they are and a `memory` that is enough. */
bm_status bm_table_room_refuse(const bm_settings *settings, const char *what, uint64_t bytes,
                               bm_error *err);

#endif
