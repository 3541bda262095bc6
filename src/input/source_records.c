/* source_records.c -- the reader and the parser (reader.h, parser.h) as a batch source.
 *
 * Tests: tests/unit/sources/test_batch_sources.c */
#include "input/source_records.h"

#include "base/error.h"
#include "base/memory.h"
#include "input/parser.h"
#include "input/reader.h"
#include "input/record_formats.h"

typedef struct records {
    bm_batch_source base;
    bm_reader *reader;   /* NULL: not begun */
    bm_parser *splitter; /* counts records that are passed over; opened when needed */
} records;

typedef struct records_batch {
    bm_source_batch base;
    bm_raw_batch *raw;
} records_batch;

typedef struct records_parser {
    bm_batch_parser base;
    bm_parser *parser;
} records_parser;

static bool records_reads(bm_format format)
{
    return bm_record_format_of(format) != NULL;
}

static bm_status records_open(bm_input_set *inputs, bm_batch_source **out, bm_error *err)
{
    records *source = NULL;
    BM_TRY(bm_new_zero(&source, 1, err));
    source->base = (bm_batch_source){
        .ops = &bm_source_records,
        .inputs = inputs,
        .copies = !bm_record_format_of(bm_input_set_format(inputs))->whole_file,
    };
    *out = &source->base;
    return BM_OK;
}

static void records_end(bm_batch_source *base)
{
    records *source = (records *)base;
    bm_parser_close(source->splitter);
    bm_reader_close(source->reader);
    source->splitter = NULL;
    source->reader = NULL;
}

static bm_status records_begin(bm_batch_source *base, const bm_batch_limits *limits, bm_error *err)
{
    records *source = (records *)base;
    records_end(base);
    BM_TRY(bm_reader_open(base->inputs, limits->bytes, limits->docs, &source->reader, err));
    bm_reader_set_gate(source->reader, limits->gate);
    if (limits->helped)
        bm_reader_set_helped(source->reader);
    if (limits->places != NULL)
        BM_TRY(bm_reader_track(source->reader, limits->places, err));
    return BM_OK;
}

static void records_free_batch(bm_source_batch *base)
{
    bm_raw_batch_free(((records_batch *)base)->raw);
    bm_free(base);
}

static bm_status records_next(bm_batch_source *base, bm_source_batch **out, bm_error *err)
{
    records *source = (records *)base;
    bm_raw_batch *raw = NULL;
    *out = NULL;
    BM_TRY(bm_reader_next(source->reader, &raw, err));
    if (raw == NULL)
        return BM_OK;
    records_batch *batch = bm_alloc_zero(1, sizeof *batch);
    if (batch == NULL) {
        bm_raw_batch_free(raw);
        return bm_fail_nomem(err, sizeof *batch);
    }
    batch->raw = raw;
    batch->base.bytes_read = raw->bytes_read;
    batch->base.place = raw->place;
    *out = &batch->base;
    return BM_OK;
}

static bool records_help(bm_batch_source *base)
{
    return bm_reader_help(((records *)base)->reader);
}

static bm_status records_count(bm_batch_source *base, const bm_source_batch *batch, uint64_t *n,
                               bm_error *err)
{
    records *source = (records *)base;
    if (source->splitter == NULL)
        BM_TRY(bm_parser_open(base->inputs, &source->splitter, err));
    *n = 0;
    return bm_parser_count(source->splitter, ((const records_batch *)batch)->raw, n, err);
}

static void records_close(bm_batch_source *base)
{
    records_end(base);
    bm_free(base);
}

static bm_status records_open_parser(const bm_batch_source *base, bm_batch_parser **out,
                                     bm_error *err)
{
    records_parser *parser = NULL;
    BM_TRY(bm_new_zero(&parser, 1, err));
    parser->base.ops = &bm_source_records;
    bm_status status = bm_parser_open(base->inputs, &parser->parser, err);
    if (status == BM_OK)
        *out = &parser->base;
    else
        bm_free(parser);
    return status;
}

static bm_status records_parse(bm_batch_parser *parser, const bm_source_batch *batch,
                               bm_record_fn fn, void *ctx, bm_error *err)
{
    return bm_parser_run(((records_parser *)parser)->parser, ((const records_batch *)batch)->raw,
                         fn, ctx, err);
}

static bm_status records_split(bm_batch_parser *parser, const bm_source_batch *batch,
                               bm_record_fn fn, void *ctx, bm_error *err)
{
    return bm_parser_split(((records_parser *)parser)->parser, ((const records_batch *)batch)->raw,
                           fn, ctx, err);
}

static void records_close_parser(bm_batch_parser *base)
{
    bm_parser_close(((records_parser *)base)->parser);
    bm_free(base);
}

const bm_batch_source_ops bm_source_records = {
    .name = "records",
    .places = true,
    .has_text = true,
    .reads = records_reads,
    .open = records_open,
    .begin = records_begin,
    .next = records_next,
    .help = records_help,
    .count = records_count,
    .end = records_end,
    .free_batch = records_free_batch,
    .close = records_close,
    .open_parser = records_open_parser,
    .parse = records_parse,
    .split = records_split,
    .close_parser = records_close_parser,
};
