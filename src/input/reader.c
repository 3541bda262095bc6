/* reader.c -- cut files into batches of whole records.
 *
 *     batch.data   [piece of file 0][piece of file 1][piece of file 2 … | begun record]
 *                                                                   cut ^      '-> carry
 *
 * Bytes are read straight into the batch that will hold them. A full batch ends at the last whole
 * record; the bytes of the record that has begun are moved through `carry` to the beginning of the
 * next batch. To keep these few, no more is read than the batch has room for, or, with a limit of
 * records, than that many records of the mean length have.
 *
 * Where every newline ends a record, the cut is found from the back by memrchr; otherwise (csv, or
 * where the limit of records is near) it is found by walking from record to record.
 *
 * A record longer than a document may be is not held: its first bytes become a piece of their own, the
 * rest is read and dropped (reader_rest.c, as what cannot be read). Limits: a batch holds at most such a
 * record and a batch's worth more.
 * Threads: one. */
#include "input/reader.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "input/input_ahead.h"
#include "input/input_set_state.h"
#include "input/newlines.h"
#include "input/reader_piece.h"
#include "input/reader_rest.h"
#include "input/record_formats.h"

#define PIECES_MAX 65536u /* in a batch, each of another file */
#define READ_AHEAD 4096u  /* bytes more than records of the mean length have */
#define GROWTH_MAX ((size_t)64 << 20)
#define AHEAD_PART 16u /* of a long record: no more than this part is read behind it */
#define CARRY_MAX  ((size_t)1 << 20) /* of its memory that stays */
#define FIRST_MEAN 512.0             /* bytes of a record, before any was seen */

bm_status bm_reader_open(bm_input_set *set, size_t batch_bytes, uint32_t batch_records,
                         bm_reader **out, bm_error *err)
{
    const bm_record_format *format = bm_record_format_of(bm_input_set_format(set));
    if (format == NULL)
        return bm_fail(err, BM_ERR_INTERNAL, "no reader for this format");
    bm_reader *reader = NULL;
    BM_TRY(bm_new_zero(&reader, 1, err));
    reader->set = set;
    reader->format = format;
    reader->rules = &set->rules;
    reader->batch_bytes = batch_bytes > 0 ? batch_bytes : 1;
    reader->batch_records = batch_records;
    reader->mean_bytes = FIRST_MEAN;
    size_t n_columns = bm_columns_count(reader->rules);
    bm_status status = BM_OK;
    if ((reader->columns = bm_alloc_zero(n_columns, sizeof *reader->columns)) == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, n_columns * sizeof *reader->columns));
    if (format->table && !reader->rules->header)
        bm_columns_from_numbers(reader->rules, reader->columns);
    status = bm_input_ahead_open(set, &reader->bytes, err);
out:
    if (status != BM_OK) {
        bm_reader_close(reader);
        return status;
    }
    *out = reader;
    return BM_OK;
}

void bm_reader_set_gate(bm_reader *reader, const bm_long_gate *gate)
{
    reader->watch.gate = gate;
}

bm_status bm_reader_track(bm_reader *reader, const bm_content_place *check, bm_error *err)
{
    return bm_content_tracker_open(check, &reader->watch.tracker, err);
}

void bm_reader_set_helped(bm_reader *reader)
{
    bm_input_ahead_set_helped(reader->bytes);
}

bool bm_reader_help(bm_reader *reader)
{
    return bm_input_ahead_help(reader->bytes);
}

void bm_reader_close(bm_reader *reader)
{
    if (reader == NULL)
        return;
    bm_input_ahead_close(reader->bytes);
    bm_content_tracker_close(reader->watch.tracker);
    bm_buf_reset(&reader->carry);
    bm_free(reader->columns);
    bm_free(reader);
}

/* Cut behind the last newline within the batch's size; where it has none, behind the first one that
 * follows. */
static void cut_at_newline(const bm_reader *reader, bm_cutter *c)
{
    const char *data = c->batch->data;
    size_t limit = c->end < reader->batch_bytes ? c->end : reader->batch_bytes;
    if (limit > c->seen) {
        const char *last = memrchr(data + c->seen, '\n', limit - c->seen);
        if (last != NULL)
            c->cut = (size_t)(last - data) + 1;
    }
    if (c->cut == c->begin && c->end > limit) {
        size_t from = limit > c->seen ? limit : c->seen;
        const char *first = from < c->end ? memchr(data + from, '\n', c->end - from) : NULL;
        if (first != NULL)
            c->cut = (size_t)(first - data) + 1;
    }
    c->seen = c->end;
    c->full = c->cut > c->begin && c->end >= reader->batch_bytes;
}

/* Bytes between elements, and those before an element that has begun, may go with what is before
 * them: so a run of white space of any length needs no memory. */
static void cut_between_elements(bm_cutter *c)
{
    bool begun = c->scan.begin != BM_SCAN_MORE;
    c->cut = begun ? c->scan.begin : c->end;
    c->state = begun ? c->scan.before : c->scan.state;
}

/* Walk from record to record until the batch is full. */
static void cut_by_records(bm_reader *reader, bm_cutter *c)
{
    while (!c->full) {
        size_t at = reader->format->record_end(&c->scan, c->batch->data, c->seen, c->end);
        if (at == BM_SCAN_MORE) {
            c->seen = c->end;
            if (c->scan.broken != NULL)
                return;
            if (reader->format->elements)
                cut_between_elements(c);
            c->full = c->cut > c->begin && c->end >= reader->batch_bytes;
            return;
        }
        if (c->cut > c->begin && at > reader->batch_bytes) {
            c->full = true;
            return;
        }
        reader->mean_bytes += ((double)(at - c->cut) - reader->mean_bytes) / 16;
        c->cut = c->seen = at;
        c->state = c->scan.state;
        reader->n_records++;
        c->full = at >= reader->batch_bytes ||
                  (reader->batch_records != 0 && reader->n_records >= reader->batch_records);
    }
}

/* Where every newline ends a record and none is likely to be one too many, they are counted behind
 * the cut; if there are too many after all, it is made before them. */
static void cut_by_count(bm_reader *reader, bm_cutter *c)
{
    const char *data = c->batch->data;
    const uint64_t left = reader->batch_records - reader->n_records;
    c->counted = true;
    c->lines = bm_count_newlines(data + c->begin, c->cut - c->begin);
    if (c->lines > 0)
        reader->mean_bytes +=
            ((double)(c->cut - c->begin) / (double)c->lines - reader->mean_bytes) / 2;
    if (c->lines >= left) {
        size_t at = c->begin;
        for (uint64_t i = 0; i < left; i++)
            at = (size_t)((const char *)memchr(data + at, '\n', c->cut - at) - data) + 1;
        c->cut = at;
        c->lines = left;
        c->full = true;
    }
    reader->n_records += c->lines;
}

/* Is it worth while to look for the end of each record? For the limit of records, only where they
 * may well reach it. */
static bool walks(const bm_reader *reader)
{
    return !reader->format->newline_ends ||
           (reader->batch_records != 0 &&
            reader->mean_bytes * (double)reader->batch_records < 2 * (double)reader->batch_bytes);
}

/* How many bytes to read next. */
static size_t read_size(const bm_reader *reader, const bm_cutter *c)
{
    if (c->end < reader->batch_bytes) {
        size_t n = reader->batch_bytes - c->end;
        if (reader->batch_records != 0 && !reader->format->whole_file) {
            uint64_t left = reader->batch_records - reader->n_records;
            double wanted = (double)left * reader->mean_bytes * 1.25 + READ_AHEAD;
            if (wanted < (double)n)
                n = (size_t)wanted;
        }
        return n;
    }
    /* One long record: what is read behind its end has to be held and moved. */
    size_t n = (c->end - c->begin) / AHEAD_PART;
    n = n > reader->batch_bytes ? n : reader->batch_bytes;
    uint64_t held = c->end - c->cut;
    if (reader->rules->longest < SIZE_MAX / 2 && n > reader->rules->longest + 6 - held)
        n = (size_t)(reader->rules->longest + 6 -
                     held); /* a line ending, a byte order mark, one byte too many */
    return n > 0 ? n : 1;
}

static bm_status read_more(bm_reader *reader, bm_cutter *c, size_t n, bm_error *err)
{
    /* A long record gets room for double of it, so that the work stays linear; what is never
     * written is no memory of the process. */
    size_t room = c->end + n;
    if (c->end >= reader->batch_bytes && room > c->batch->cap)
        room += c->end < GROWTH_MAX ? c->end : GROWTH_MAX;
    BM_TRY(bm_raw_batch_reserve(c->batch, room, err));
    size_t got = 0;
    BM_TRY(bm_reader_read(reader, c->batch->data + c->end, n, &got, err));
    c->end += got;
    reader->file_end = got == 0;
    return BM_OK;
}

static bm_status take_records(bm_reader *reader, bm_cutter *c, bm_error *err)
{
    bm_raw_batch *batch = c->batch;
    bool header = reader->format->table && reader->rules->header;
    if (reader->broken.rest && !c->full) {
        c->end = c->cut;                       /* the record that has begun is part of the rest */
    } else if (reader->file_end && !c->full) { /* the last record may have no line ending */
        reader->n_records += c->end > c->cut || reader->format->whole_file;
        c->cut = c->end;
    }
    if (header && !reader->begun)
        BM_TRY(bm_reader_header(reader, c, err));
    if (c->cut < c->end)
        BM_TRY(bm_buf_add(&reader->carry, batch->data + c->cut, c->end - c->cut, err));
    bm_raw_piece piece = {.begin = c->begin, .end = c->cut};
    const bool rest = reader->broken.rest;
    piece.file_end = reader->file_end && c->cut == c->end && !rest;
    BM_TRY(bm_reader_saw(reader, batch->data + c->begin, c->cut - c->begin, err));
    if (piece.end > piece.begin || !rest)
        BM_TRY(bm_reader_add_piece(reader, batch, piece, err));
    if (!piece.file_end)
        reader->line +=
            c->counted ? c->lines : bm_count_newlines(batch->data + c->begin, c->cut - c->begin);
    reader->state = c->state;
    if (rest && !c->full)
        BM_TRY(bm_reader_add_rest(reader, batch, reader->line, err));
    return BM_OK;
}

/* Is the array broken where the bytes read so far end, or before? Then the piece ends before that
 * place. */
static bool is_broken(const bm_reader *reader, const bm_cutter *c)
{
    return c->scan.broken != NULL ||
           (reader->format->elements && reader->file_end && !reader->broken.rest &&
            c->seen == c->end &&
            (reader->begun ||
             c->end > c->begin + bm_bom_bytes(c->batch->data + c->begin, c->end - c->begin)) &&
            bm_elements_unclosed(&c->scan) != NULL);
}

static bm_status take_before_break(bm_reader *reader, const bm_cutter *c, bm_error *err)
{
    const char *data = c->batch->data;
    const char *why = c->scan.broken;
    size_t at = c->scan.at;
    if (why == NULL) {
        why = bm_elements_unclosed(&c->scan);
        at = c->scan.begin != BM_SCAN_MORE ? c->scan.begin : c->end;
    }
    const uint64_t line = reader->line + bm_count_newlines(data + c->begin, at - c->begin);
    /* an element that has begun is part of the rest */
    const size_t rest_at = c->scan.begin != BM_SCAN_MORE ? c->scan.begin : at;
    bm_raw_piece piece = {.begin = c->begin, .end = c->cut};
    BM_TRY(bm_reader_saw(reader, data + c->begin, c->cut - c->begin, err));
    BM_TRY(bm_reader_break_off(reader, line, why, err));
    const bool rest = reader->broken.rest;
    if ((piece.end > piece.begin || !rest))
        BM_TRY(bm_reader_add_piece(reader, c->batch, piece, err));
    if (rest)
        BM_TRY(bm_reader_add_rest(
            reader, c->batch, reader->line + bm_count_newlines(data + c->begin, rest_at - c->begin),
            err));
    return BM_OK;
}

/* May n bytes more be held? Only a record longer than a batch is asked about. */
static bm_status ask_gate(const bm_reader *reader, const bm_cutter *c, size_t n, bool *may,
                          bm_error *err)
{
    const bm_long_gate *gate = reader->watch.gate;
    const uint64_t bytes = (uint64_t)(c->end - c->begin) + n;
    *may = gate == NULL || c->end < reader->batch_bytes;
    if (*may)
        return BM_OK;
    BM_TRY(bm_input_ahead_yield(reader->bytes, bytes, err));
    return gate->hold(gate->ctx, bytes, may, err);
}

/* Make one piece of the current file: read until the batch is full or the file ends. */
static bm_status take_piece(bm_reader *reader, bm_raw_batch *batch, bm_error *err)
{
    bm_cutter c = {.batch = batch, .begin = batch->len, .end = batch->len + reader->carry.len};
    BM_TRY(bm_raw_batch_reserve(batch, c.end, err));
    if (reader->carry.len > 0)
        memcpy(batch->data + c.begin, reader->carry.data, reader->carry.len);
    reader->carry.len = 0;
    if (reader->carry.cap > CARRY_MAX)
        bm_buf_reset(&reader->carry);
    c.cut = c.seen = c.begin;
    c.state = c.scan.state = reader->state;
    c.scan.syntax = reader->rules->syntax;
    const bool walk = walks(reader);
    if (!reader->begun) { /* a byte order mark is no part of the first field */
        while (c.end - c.begin < 3 && !reader->file_end)
            BM_TRY(read_more(reader, &c, read_size(reader, &c), err));
        c.seen += bm_bom_bytes(batch->data + c.begin, c.end - c.begin);
    }
    for (;;) {
        if (walk)
            cut_by_records(reader, &c);
        else
            cut_at_newline(reader, &c);
        if (!walk && reader->batch_records != 0 && (c.full || reader->file_end))
            cut_by_count(reader, &c);
        if (is_broken(reader, &c))
            return take_before_break(reader, &c, err);
        if (c.full || reader->file_end)
            return take_records(reader, &c, err);
        size_t bom = !reader->begun && c.cut == c.begin ? 3 : 0;
        if (c.cut == c.begin && c.end >= reader->batch_bytes &&
            reader->rules->longest < SIZE_MAX / 2 &&
            c.end - c.begin > reader->rules->longest + 2 + bom)
            return bm_reader_take_too_long(reader, &c, false, err);
        const size_t n = read_size(reader, &c);
        bool may;
        BM_TRY(ask_gate(reader, &c, n, &may, err));
        if (!may)
            return bm_reader_take_too_long(reader, &c, true, err);
        BM_TRY(read_more(reader, &c, n, err));
    }
}

static bool is_full(const bm_reader *reader, const bm_raw_batch *batch)
{
    return batch->len >= reader->batch_bytes || batch->n_pieces >= PIECES_MAX ||
           (reader->batch_records != 0 && reader->n_records >= reader->batch_records);
}

static bm_status fill_batch(bm_reader *reader, bm_raw_batch *batch, bm_error *err)
{
    bm_status status = BM_OK;
    while (status == BM_OK) {
        if (!reader->open) {
            if (reader->file == bm_input_set_count(reader->set) || is_full(reader, batch))
                break;
            status = bm_reader_begin_file(reader, err);
            reader->open = status == BM_OK;
        } else {
            status = take_piece(reader, batch, err);
            if (status != BM_OK)
                break;
            if (!batch->pieces[batch->n_pieces - 1].file_end)
                break; /* the batch is full */
            status = bm_reader_end_file(reader, err);
        }
    }
    return status;
}

bm_status bm_reader_next(bm_reader *reader, bm_raw_batch **out, bm_error *err)
{
    *out = NULL;
    if (reader->batches.failed != BM_OK)
        return bm_fail(err, reader->batches.failed, "the reader has failed before");
    if (reader->broken.error.status != BM_OK && !reader->broken.rest) {
        if (err != NULL)
            *err = reader->broken.error;
        return reader->batches.failed = reader->broken.error.status;
    }
    if (!reader->open && reader->file == bm_input_set_count(reader->set))
        return BM_OK;
    bm_raw_batch *batch = NULL;
    BM_TRY(bm_new_zero(&batch, 1, err));
    reader->n_records = 0;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_raw_batch_reserve(batch, reader->batch_bytes, err));
    BM_TRY_OUT(fill_batch(reader, batch, err));
    status = bm_raw_batch_reserve(batch, batch->len, err);
out:
    if (status != BM_OK) {
        reader->batches.failed = status;
        bm_raw_batch_free(batch);
        return status;
    }
    batch->sequence = reader->batches.n++;
    batch->bytes_read = bm_input_ahead_stored(reader->bytes);
    if (reader->watch.tracker != NULL)
        batch->place = bm_content_tracker_place(reader->watch.tracker);
    *out = batch;
    return BM_OK;
}
