/* SPDX-License-Identifier: Apache-2.0 */
/* world_reader.h -- the source of record files, as a job drives it, but with raw batches that tests
 * look into. */
#pragma once

#include <stdlib.h>

#include "base/memory.h"
#include "input/batch_source.h"
#include "input/raw_batch.h"

/* Begin to read the set with these limits. */
static inline bm_status world_reader_begin(bm_input_set *set, const bm_batch_limits *limits,
                                           bm_batch_source **out, bm_error *err)
{
    bm_status status = bm_source_records.open(set, out, err);
    return status == BM_OK ? bm_batch_source_begin(*out, limits, 0, err) : status;
}

/* Read by one thread. `batch_records`: records per batch, 0: any number. */
static inline bm_status world_reader_open(bm_input_set *set, size_t batch_bytes,
                                          uint32_t batch_records, bm_batch_source **out,
                                          bm_error *err)
{
    return world_reader_begin(set, &(bm_batch_limits){.bytes = batch_bytes, .docs = batch_records},
                              out, err);
}

/* *out is taken by the caller (bm_raw_batch_free); NULL at the end. */
static inline bm_status world_reader_next(bm_batch_source *reader, bm_raw_batch **out,
                                          bm_error *err)
{
    bm_batch_next next;
    *out = NULL;
    const bm_status status = bm_batch_source_next(reader, &next, err);
    if (next.batch != NULL)
        *out = ((bm_records_batch *)next.batch)->raw;
    bm_free(next.batch);
    return status;
}

static inline bm_status world_reader_fill(bm_batch_source *reader, bm_raw_batch *batch,
                                          double *in_turn, bm_error *err)
{
    bm_records_batch of = {.raw = batch};
    return bm_batch_source_fill(reader, &of.base, in_turn, err);
}

static inline void world_reader_close(bm_batch_source *reader) /* NULL is fine */
{
    if (reader != NULL)
        bm_batch_source_end(reader);
    bm_batch_source_close(reader);
}
