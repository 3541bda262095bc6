/* SPDX-License-Identifier: Apache-2.0 */
/* line_input.c -- reads a line, copies it into a batch, and parses it.
 *
 *     bytes   [ line 7 \n line 8 \n lin ]      as they were read; begin: offset of the next line
 *     batch   [ line 7 \n ]                    a copy, as parsers need it
 *
 * Most clients wait for each answer. A read then returns one line, since the client has sent no
 * more. If a line is longer than a document may be, or the gate refuses it, its first bytes are
 * kept for messages and the rest is skipped. Few bytes are read ahead after a long line, and the
 * line's memory in the buffer is freed. So both copies of a long line exist only while it is
 * copied.
 *
 * Tests: tests/unit/sources/test_line_input.c */
#include "sources/line_input.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/files.h"
#include "base/utf8.h"
#include "input/input_set.h"
#include "input/parser.h"
#include "input/record_format.h"

#define READ_BYTES ((size_t)64 << 10)
/* From this length on, a line needs permission from the gate. Larger buffers are freed. */
#define LONG_BYTES ((size_t)1 << 20)
/* A long line is read in steps of 1/16 of its bytes read so far, so that few bytes beyond its end
 * are read. */
#define AHEAD_PART 16u
#define NAME       "-"

struct bm_line_input {
    bm_input_set *set;
    bm_parser *parser;
    const bm_callbacks *callbacks;
    const bm_long_gate *gate;
    const bm_record_rules *rules; /* rules of the set */
    bool ended;                   /* the stream has ended */
    char *bytes;
    /* begin, end: bounds of the bytes that were read but not delivered yet; cap: size of the
     * buffer */
    size_t begin, end, cap;
    uint64_t line;      /* the number of the next line */
    bm_raw_batch batch; /* has one piece */
    bm_raw_piece piece;
};

/* A line found in the bytes that were read. */
typedef struct found_line {
    size_t len; /* length of the line, including its newline */
    bool cut;   /* only the first bytes of the line are there */
} found_line;

static bm_status check_format(const bm_input_options *options, bm_input_options *used,
                              bm_error *err)
{
    *used = *options;
    if (used->format == BM_FORMAT_AUTO)
        used->format = BM_FORMAT_JSONL;
    if (used->format != BM_FORMAT_JSONL && used->format != BM_FORMAT_LINES &&
        used->format != BM_FORMAT_TSV)
        return bm_fail_field(err, "format", "`format` of a line at a time is jsonl, lines or tsv");
    if (used->header == BM_HEADER_YES)
        return bm_fail_field(err, "header", "`header` yes: a line at a time has none (no)");
    if (used->format == BM_FORMAT_TSV)
        used->header = BM_HEADER_NO;
    return BM_OK;
}

/* Prepare the batch, which for tables includes the columns. */
static bm_status open_batch(bm_line_input *in, bm_error *err)
{
    in->batch.pieces = &in->piece;
    in->batch.n_pieces = 1;
    if (in->set->format != BM_FORMAT_TSV)
        return BM_OK;
    BM_TRY(bm_new_zero(&in->batch.columns, bm_row_numbers_count(in->rules), err));
    bm_row_numbers_begin(in->rules, in->batch.columns);
    return BM_OK;
}

bm_status bm_line_input_open(const bm_input_options *options, const bm_callbacks *callbacks,
                             const bm_long_gate *gate, bm_line_input **out, bm_error *err)
{
    bm_input_options used;
    BM_TRY(check_format(options, &used, err));
    bm_line_input *in = NULL;
    BM_TRY(bm_new_zero(&in, 1, err));
    in->callbacks = callbacks;
    in->gate = gate;
    in->line = 1;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_input_set_open_stream(&used, NAME, &in->set, err));
    in->rules = &in->set->rules;
    BM_TRY_OUT(bm_parser_open(in->set, &in->parser, err));
    status = open_batch(in, err);
out:
    if (status == BM_OK)
        *out = in;
    else
        bm_line_input_close(in);
    return status;
}

void bm_line_input_close(bm_line_input *in)
{
    if (in == NULL)
        return;
    bm_parser_close(in->parser);
    bm_input_set_close(in->set);
    bm_free_all(in->batch.data, in->batch.columns, in->bytes, in);
}

/* --- bytes --- */

/* How many bytes to read next, at most. */
static size_t read_size(const bm_line_input *in)
{
    const size_t part = (in->end - in->begin) / AHEAD_PART;
    return part > READ_BYTES ? part : READ_BYTES;
}

static bm_status read_more(bm_line_input *in, bm_error *err)
{
    const size_t most = read_size(in);
    if (in->begin > 0 && in->begin == in->end)
        in->begin = in->end = 0;
    if (in->cap - in->end < READ_BYTES / 2 && in->begin > 0) {
        memmove(in->bytes, in->bytes + in->begin, in->end - in->begin);
        in->end -= in->begin;
        in->begin = 0;
    }
    BM_TRY(bm_grow_array(&in->bytes, &in->cap, in->end + most, err));
    ssize_t n;
    BM_TRY(bm_read_ready(in->callbacks, STDIN_FILENO, in->bytes + in->end, most, &n, err));
    if (n < 0)
        return bm_fail_errno(err, errno, NAME, "cannot be read");
    in->ended = n == 0;
    in->end += (size_t)n;
    return BM_OK;
}

/* Read and drop a line's bytes after the first `keep`, up to its newline. *passed receives the size
 * of the line. The number of its words is included only if `words` is set. */
static bm_status drop_rest(bm_line_input *in, size_t keep, bool words, bm_long_record *passed,
                           bm_error *err)
{
    *passed = (bm_long_record){.file = NAME, .line = in->line, .bytes = keep};
    if (words)
        passed->words = bm_long_words(in->bytes + in->begin, keep);
    for (;;) {
        char *from = in->bytes + in->begin + keep;
        const char *newline = memchr(from, '\n', in->end - in->begin - keep);
        const char *rest = newline != NULL ? newline : in->bytes + in->end;
        const size_t left = (size_t)(in->bytes + in->end - rest);
        passed->bytes += (uint64_t)(rest - from);
        if (words)
            passed->words += bm_long_words(from, (size_t)(rest - from));
        memmove(from, rest, left);
        in->end = in->begin + keep + left;
        if (newline != NULL || in->ended)
            break;
        BM_TRY(read_more(in, err));
    }
    return BM_OK;
}

/* Keep only the first bytes of the line. `refused`: the gate does not allow the rest; then fail
 * with the gate's error, unless the line is too long for a document anyway. */
static bm_status cut_line(bm_line_input *in, bool refused, found_line *out, bm_error *err)
{
    const size_t keep = bm_too_long_prefix(in->rules->longest) + 3;
    bm_long_record passed;
    bm_status status = BM_OK;
    BM_TRY_OUT(drop_rest(in, keep, refused, &passed, err));
    if (refused && passed.bytes <= in->rules->longest)
        return in->gate->refuse(in->gate->ctx, &passed, err);
out:
    out->cut = true;
    out->len = keep + (in->end > in->begin + keep ? 1 : 0);
    return status;
}

static bm_status find_line(bm_line_input *in, found_line *out, bm_error *err)
{
    size_t seen = 0;
    *out = (found_line){0};
    for (;;) {
        const size_t have = in->end - in->begin;
        const char *newline =
            have > seen ? memchr(in->bytes + in->begin + seen, '\n', have - seen) : NULL;
        if (newline != NULL) {
            out->len = (size_t)(newline - (in->bytes + in->begin)) + 1;
            return BM_OK;
        }
        if (in->ended) {
            out->len = have;
            return BM_OK;
        }
        if (have > in->rules->longest &&
            have - in->rules->longest > 8) /* leaves room for a byte order mark and CR LF */
            return cut_line(in, false, out, err);
        bool may = true;
        if (in->gate != NULL && have >= LONG_BYTES)
            BM_TRY(in->gate->hold(in->gate->ctx, have + read_size(in), &may, err));
        if (!may)
            return cut_line(in, true, out, err);
        seen = have;
        BM_TRY(read_more(in, err));
    }
}

/* --- records --- */

typedef struct counted {
    bm_record_fn fn;
    void *ctx;
    bool called;
} counted;

static bm_status count_call(void *ctx, const bm_record *record, bm_error *err)
{
    counted *c = ctx;
    c->called = true;
    return c->fn(c->ctx, record, err);
}

/* Set the number of cells that a line may have, by the first line of a table. */
static bm_status count_cells(bm_line_input *in, const found_line *line, bm_error *err)
{
    const char *data = in->batch.data;
    const size_t mark = bm_bom_bytes(data, line->len);
    const bm_first_row first = {.row = bm_without_line_end((bm_str){data + mark, line->len - mark}),
                                .syntax = in->rules->syntax,
                                .file = NAME};
    return bm_row_numbers_from(in->rules, &first, in->batch.columns, err);
}

/* Copy the line into a batch of one piece. */
static bm_status fill_batch(bm_line_input *in, const found_line *line, bm_error *err)
{
    bm_raw_batch *batch = &in->batch;
    if (line->len > batch->cap || batch->data == NULL)
        BM_TRY(bm_raw_batch_reserve(batch, line->len + line->len / 2 + 4096, err));
    memcpy(batch->data, in->bytes + in->begin, line->len);
    batch->len = line->len;
    in->piece = (bm_raw_piece){
        .first_line = in->line, .end = line->len, .file_begin = in->line == 1, .cut = line->cut};
    return batch->columns == NULL || in->line > 1 || line->cut ? BM_OK : count_cells(in, line, err);
}

/* Move the bytes that follow a long line to a smaller block, if the block is large and at most half
 * full. */
static bm_status shrink_block(bm_line_input *in, bm_error *err)
{
    const size_t rest = in->end - in->begin;
    if (in->cap <= LONG_BYTES || in->cap / 2 < rest)
        return BM_OK;
    char *bytes;
    BM_TRY(bm_new(&bytes, rest + READ_BYTES, err));
    memcpy(bytes, in->bytes + in->begin, rest);
    bm_free(in->bytes);
    in->bytes = bytes;
    in->cap = rest + READ_BYTES;
    in->begin = 0;
    in->end = rest;
    return BM_OK;
}

bm_status bm_line_input_next(bm_line_input *in, bm_record_fn fn, void *ctx, bm_line_got *got,
                             bm_error *err)
{
    counted c = {fn, ctx, false};
    found_line line;
    *got = BM_LINE_END;
    if (in->batch.cap > LONG_BYTES) { /* the previous line has left a large buffer */
        bm_free(in->batch.data);
        in->batch.data = NULL;
        in->batch.cap = 0;
    }
    bm_status status = find_line(in, &line, err);
    if (status != BM_OK || line.len == 0)
        return status;
    status = fill_batch(in, &line, err);
    in->begin += line.len;
    in->line++;
    if (status == BM_OK)
        status = shrink_block(in, err);
    if (status == BM_OK)
        status = bm_parser_run(in->parser, &in->batch, count_call, &c, err);
    *got = c.called ? BM_LINE_RECORD : BM_LINE_BLANK;
    return status;
}
