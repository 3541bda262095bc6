/* SPDX-License-Identifier: Apache-2.0 */
/* read_again.c -- reads the records into a raw batch, one piece per record, and lets an ordinary
 * parser parse the batch.
 *
 *     file    ....[ 7 ]...........[ 12 ][ 13 ]..[ 15 ]......      places, ascending within a file
 *     data        [ 7     ][ 12 ][ 13 ]..[ 15  ]                  two reads
 *
 * The length of a record is unknown until its newline is found. So the length is guessed from the
 * length of the record's text, and reading continues until the newline. Records that are close to
 * each other share a read.
 *
 * Tests: tests/unit/corpus/test_corpus_again.c */

#include "input/parser.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "input/record_format.h"
#include "input/record_rules.h"

#define READ_MOST ((size_t)256 << 10) /* approximate limit of a read of several records */
#define GAP_MOST  4096u               /* the most bytes between two records that share a read */
#define HELD_MOST ((size_t)1 << 20)   /* the most bytes that stay allocated */

struct bm_read_again {
    const bm_input_set *set;
    const bm_record_format *format;
    size_t file; /* the open file; SIZE_MAX: none */
    int fd;
    bm_raw_batch batch;
};

bool bm_input_set_reads_again(const bm_input_set *set)
{
    const bm_record_format *format = bm_record_format_of(bm_input_set_format(set));
    bool all = format != NULL && format->newline_ends && set->n_held == 0 && !set->unknown_size &&
               set->remotes == NULL; /* files at addresses are not local */
    for (size_t i = 0; all && i < set->n_sources; i++)
        all = set->sources[i].compression == BM_COMPRESSION_NONE &&
              set->sources[i].unreadable == NULL;
    return all;
}

bm_status bm_read_again_open(const bm_input_set *set, bm_read_again **out, bm_error *err)
{
    bm_read_again *again = NULL;
    BM_TRY(bm_new_zero(&again, 1, err));
    again->set = set;
    again->format = bm_record_format_of(bm_input_set_format(set));
    again->file = SIZE_MAX;
    again->fd = -1;
    const bm_status status =
        bm_new_zero(&again->batch.columns, bm_row_numbers_count(&set->rules), err);
    if (status != BM_OK) {
        bm_free(again);
        return status;
    }
    *out = again;
    return BM_OK;
}

static void close_file(bm_read_again *again)
{
    if (again->fd >= 0)
        (void)close(again->fd);
    again->fd = -1;
    again->file = SIZE_MAX;
}

void bm_read_again_close(bm_read_again *again)
{
    if (again == NULL)
        return;
    close_file(again);
    bm_free_all(again->batch.data, again->batch.pieces, again->batch.columns, again);
}

/* Append up to n bytes of the open file, starting at `offset`. *got is 0 at the end of the file. */
static bm_status append(bm_read_again *again, uint64_t offset, size_t n, size_t *got, bm_error *err)
{
    bm_raw_batch *batch = &again->batch;
    if (batch->len + n > batch->cap)
        BM_TRY(bm_raw_batch_reserve(batch, (batch->len + n) * 2, err));
    const int failed = bm_pread_all(again->fd, batch->data + batch->len, n, offset, got);
    if (failed != 0)
        return bm_fail_errno(err, failed, again->set->sources[again->file].name,
                             "cannot be read again");
    batch->len += *got;
    return BM_OK;
}

/* Find the end of the record at file offset `offset`. Its bytes so far, batch.data[begin …
 * seen-1], have no newline. Append bytes of the file until a newline or the end of the file. *end:
 * offset in batch.data after the newline. */
static bm_status find_end(bm_read_again *again, size_t begin, size_t seen, uint64_t offset,
                          size_t *end, bm_error *err)
{
    bm_raw_batch *batch = &again->batch;
    for (;;) {
        const char *newline =
            seen < batch->len ? memchr(batch->data + seen, '\n', batch->len - seen) : NULL;
        size_t got;
        *end = newline != NULL ? (size_t)(newline - batch->data) + 1 : batch->len;
        if (newline != NULL)
            return BM_OK;
        seen = batch->len;
        const size_t more = seen - begin < GAP_MOST ? GAP_MOST : seen - begin;
        BM_TRY(append(again, offset + (seen - begin), more, &got, err));
        if (got == 0)
            return BM_OK;
    }
}

/* If the format is a table, find the columns of the open file, and the number of cells in its first
 * row. */
static bm_status find_columns(bm_read_again *again, bm_error *err)
{
    const bm_record_rules *rules = &again->set->rules;
    const bm_source *source = &again->set->sources[again->file];
    bm_raw_batch *batch = &again->batch;
    bm_str row = {source->cut.first_row, source->cut.first_row_len};
    if (!again->format->table)
        return BM_OK;
    const size_t begin = batch->len;
    if (row.data == NULL) {
        size_t end;
        BM_TRY(find_end(again, begin, begin, 0, &end, err));
        const size_t mark = bm_bom_bytes(batch->data + begin, end - begin);
        row = (bm_str){batch->data + begin + mark, end - begin - mark};
    }
    const bm_first_row first = {
        .row = bm_without_line_end(row), .syntax = rules->syntax, .file = source->name};
    const bm_status status = bm_row_numbers_from(rules, &first, batch->columns, err);
    batch->len = begin;
    return status;
}

static bm_status open_file(bm_read_again *again, size_t file, bm_error *err)
{
    const bm_source *source = &again->set->sources[file];
    if (again->file == file)
        return BM_OK;
    close_file(again);
    again->fd = open(bm_source_place(source), O_RDONLY | O_CLOEXEC);
    if (again->fd < 0)
        return bm_fail_errno(err, errno, source->name, "cannot be read again");
    again->file = file;
    return find_columns(again, err);
}

/* A first guess at how many bytes the record has at most. */
static size_t guess(const bm_record_place *record)
{
    const uint64_t bytes = record->text_bytes + record->text_bytes / 8 + 256;
    return bytes < READ_MOST ? (size_t)bytes : READ_MOST;
}

/* Returns how many records to read at once, starting with the first. *bytes: the approximate size
 * of these records. */
static size_t choose_records(const bm_record_place *places, size_t n, size_t *bytes)
{
    const uint64_t begin = places[0].place;
    uint64_t end = begin + guess(&places[0]);
    size_t many = 1;
    for (; many < n; many++) {
        const bm_record_place *next = &places[many];
        const uint64_t to = next->place + guess(next);
        if (next->file != places[0].file || next->place <= places[many - 1].place ||
            next->place > end + GAP_MOST || to - begin > READ_MOST)
            break;
        end = to > end ? to : end;
    }
    *bytes = (size_t)(end - begin);
    return many;
}

/* Read records of one file at once, and add one piece for each. */
static bm_status add_records(bm_read_again *again, const bm_record_place *places, size_t n,
                             size_t bytes, bm_error *err)
{
    bm_raw_batch *batch = &again->batch;
    const size_t base = batch->len;
    const uint64_t first = places[0].place;
    size_t got;
    BM_TRY(append(again, first, bytes, &got, err));
    for (size_t i = 0; i < n; i++) {
        size_t begin = base + (size_t)(places[i].place - first), end;
        begin = begin < batch->len ? begin : batch->len;
        BM_TRY(find_end(again, begin, begin, places[i].place, &end, err));
        batch->pieces[batch->n_pieces++] = (bm_raw_piece){.file = places[i].file,
                                                          .first_line = places[i].line,
                                                          .begin = begin,
                                                          .end = end,
                                                          .file_begin = places[i].place == 0,
                                                          .place = places[i].place};
    }
    return BM_OK;
}

static bm_status parse(bm_read_again *again, bm_parser *parser, bm_record_fn fn, void *ctx,
                       bm_error *err)
{
    bm_raw_batch *batch = &again->batch;
    const bm_status status = bm_parser_run(parser, batch, fn, ctx, err);
    batch->len = batch->n_pieces = 0;
    if (batch->cap > HELD_MOST) {
        bm_free(batch->data);
        batch->data = NULL;
        batch->cap = 0;
    }
    return status;
}

bm_status bm_read_again_run(bm_read_again *again, bm_parser *parser, const bm_record_place *places,
                            size_t n, bm_record_fn fn, void *ctx, bm_error *err)
{
    for (size_t i = 0; i < n;) {
        size_t bytes;
        const size_t many = choose_records(places + i, n - i, &bytes);
        BM_TRY(open_file(again, places[i].file, err));
        BM_TRY(bm_grow(&again->batch.pieces, &again->batch.cap_pieces, many,
                       sizeof *again->batch.pieces, err));
        BM_TRY(add_records(again, places + i, many, bytes, err));
        BM_TRY(parse(again, parser, fn, ctx, err));
        i += many;
    }
    return BM_OK;
}
