/* SPDX-License-Identifier: Apache-2.0 */
/* each_record.h -- passes on all records of an input, as one thread of a job reads them. */
#pragma once

#include "input/input_set.h"
#include "input/parser.h"
#include "tests/world/world_reader.h"

/* `limit`: records per batch, 0: any number. */
typedef struct record_batches {
    size_t bytes;
    uint32_t limit;
} record_batches;

static inline bm_status each_record(const bm_input_options *options, record_batches batches,
                                    bm_record_fn fn, void *ctx, bm_error *err)
{
    bm_input_set *set = NULL;
    bm_batch_source *reader = NULL;
    bm_parser *parser = NULL;
    bm_status status = bm_input_set_open(options, NULL, 0, NULL, &set, err);
    if (status == BM_OK)
        status = world_reader_open(set, batches.bytes, batches.limit, &reader, err);
    if (status == BM_OK)
        status = bm_parser_open(set, &parser, err);
    while (status == BM_OK) {
        bm_raw_batch *batch;
        status = world_reader_next(reader, &batch, err);
        if (status != BM_OK || batch == NULL)
            break;
        status = bm_parser_run(parser, batch, fn, ctx, err);
        bm_raw_batch_free(batch);
    }
    bm_parser_close(parser);
    world_reader_close(reader);
    bm_input_set_close(set);
    return status;
}
