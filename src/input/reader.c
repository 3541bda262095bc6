/* SPDX-License-Identifier: Apache-2.0 */
/* reader.c -- cuts files into batches of whole records. A raw batch consists of pieces, each a
 * sequence of whole records of one file. A parser (parser.h) finds the records in them.
 *
 *     batch.data   [piece of file 0][piece of file 1][piece of file 2 … | begun record]
 *                                                                   cut ^      '-> carry
 *
 * Bytes are read straight into the batch that will have them. A full batch ends with its last whole
 * record. The first bytes of the next record are moved through `carry` to the beginning of the next
 * batch. To keep these bytes few, the reader reads no more than fits into the batch. If there is a
 * limit of records, it reads little more than that many records of mean size would take.
 *
 * If every newline ends a record, memrchr finds the cut from the end. Otherwise (csv, or when the
 * limit of records is near) the reader walks from record to record.
 *
 * If a record is longer than a document may be, its first bytes become a piece of their own, and
 * the rest of the record is read and dropped. The rest of a broken file is dropped too. Limits: a
 * batch has at most about batch_bytes bytes plus the longest document allowed.
 *
 * In a plain file a cut can be guessed without reading everything before it: the last bytes that
 * would fit into a batch show where a record seems to end. The bytes up to such a cut are a
 * *range*. If several threads process batches, ranges are handed out unread. The thread that got a
 * range reads it with pread(), at the same time as other threads read theirs, and checks that a
 * record really ends at the cut. Small files are handed out unread too, as many as fit into a
 * batch.
 *
 * A range may be handed out before the ranges before it are accepted. The reader's position in the
 * file, digest and line count are always those after the last accepted range. A range can fail: the
 * file was cut off, a read failed, the range has more records than a batch may have, or no record
 * ends at the cut. The reader then continues in order after the last accepted range, and reports
 * the error itself. It also continues in order where no cut is found: at the last records of a
 * file, and at records longer than a quarter of a batch. The more often ranges fail in a file, the
 * more batches are read in order before the next range. Threads: one reads, any number fill.
 *
 * Tests: tests/cli/cases/broken_files.sh, tests/unit/input/test_reader.c,
 *        tests/unit/input/test_reader_ranges.c, tests/unit/sources/test_batch_sources.c */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "input/batch_source.h"
#include "input/input_ahead.h"
#include "input/input_digest.h"
#include "input/input_set.h"
#include "input/parser.h"
#include "input/raw_batch.h"
#include "input/record_format.h"
#include "input/record_rules.h"
#include "model/field_rows.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* The state between two batches, and while the reader searches for a cut. */

/* How many batches were handed out, and whether reading has failed. */
typedef struct reader_batches {
    uint64_t n;
    bm_status failed; /* if not BM_OK, no batch follows, and the reader can only be closed */
} reader_batches;

/* How the current file is broken. */
typedef struct reader_break {
    /* if its status is not BM_OK, it is returned after the records before it are handed out */
    bm_error error;
    bool rest; /* the rest of the file becomes one bad record, which is skipped */
} reader_break;

/* The gate for long records, and the tracker of all bytes read. */
typedef struct reader_watch {
    const bm_long_gate *gate;    /* borrowed; NULL: any record may be kept in memory */
    bm_content_tracker *tracker; /* NULL: positions are not reported */
} reader_watch;

/* The ranges of the current file. While `ahead` is set, the reader has handed out ranges that are
 * not finished. The state that follows lines and digests (line, n_elements, mean_bytes, bytes,
 * tracker) then belongs to the thread that accepts a range. */
typedef struct reader_ranges {
    bool wanted, ahead;
    uint64_t at;    /* file offset at which the next range begins, if `ahead` */
    uint64_t given; /* ranges handed out */
    pthread_mutex_t lock;
    pthread_cond_t moved;
    uint64_t finished; /* ranges accepted or dropped */
    bool failed;       /* a range was not as expected; it and all later ones are dropped */
    bool unbegun;      /* a dropped range was the first of its file */
    unsigned state;    /* the scan's state where the first dropped range began */
    size_t file;       /* the file of the first dropped range */
    /* Used by the reader alone. n_failed: how many ranges of this file have failed; pause: how many
     * batches to read in order before the next range; look: the bytes in which the end of a record
     * is searched; opening: the first bytes of each element of the file's array
     * (bm_element_opening). */
    uint32_t n_failed, pause;
    bm_buf look, opening;
} reader_ranges;

typedef struct record_reader {
    struct bm_input_set *set;
    const bm_record_format *format;
    const bm_record_rules *rules;
    size_t batch_bytes;
    uint32_t batch_records;
    bm_input_ahead *bytes;
    size_t file;         /* the current file, or the next to open */
    bool open, file_end; /* open: a file is open; file_end: it was read to its end */
    bool begun;          /* a piece of the current file has been made */
    uint64_t line;       /* line on which the next piece begins */
    uint64_t n_elements; /* elements of the file's array before the next piece */
    uint64_t place;      /* file offset at which the next piece begins, in a plain file */
    unsigned state;      /* state of the scan at the beginning of the next piece */
    bm_buf carry;        /* bytes already read for the beginning of the next batch */
    uint32_t *columns;   /* column numbers of the current file (record_rules.h) */
    double mean_bytes;   /* mean size of the records so far, weighted towards the last ones */
    uint64_t n_records;  /* records in the batch that is being filled */
    reader_break broken;
    reader_batches batches;
    reader_watch watch;
    reader_ranges ranges;
} record_reader;

/* The search for a cut in the current piece. */
typedef struct cutter {
    bm_raw_batch *batch;
    size_t begin; /* where the piece begins in the batch */
    size_t end;   /* end of the bytes read */
    size_t seen;  /* end of the bytes examined */
    size_t cut;   /* end of the last whole record; equal to `begin`: no record has ended */
    bm_scan scan;
    unsigned state;  /* state of the scan at `cut` */
    bool counted;    /* `lines` is set */
    uint64_t lines;  /* newlines from `begin` to `cut` */
    uint64_t walked; /* records that were found one by one */
    bool full;       /* the batch must end at `cut` */
} cutter;

/* Add the column numbers of the piece's file to the batch, unless they were added for the piece
 * before. */
static bm_status add_columns(record_reader *reader, bm_raw_batch *batch, bm_raw_piece *piece,
                             bm_error *err)
{
    const bm_raw_piece *last = batch->n_pieces > 0 ? &batch->pieces[batch->n_pieces - 1] : NULL;
    if (last != NULL && last->file == piece->file) {
        piece->columns = last->columns;
        return BM_OK;
    }
    size_t n = bm_row_numbers_count(reader->rules);
    BM_TRY(bm_grow(&batch->columns, &batch->cap_columns, batch->n_columns + n,
                   sizeof *batch->columns, err));
    memcpy(batch->columns + batch->n_columns, reader->columns, n * sizeof *reader->columns);
    piece->columns = batch->n_columns;
    batch->n_columns += n;
    return BM_OK;
}

/* Make the bytes from piece.begin to piece.end-1 of batch->data a piece of the current file. */
static bm_status reader_add_piece(record_reader *reader, bm_raw_batch *batch, bm_raw_piece piece,
                                  bm_error *err)
{
    piece.file = (uint32_t)reader->file;
    piece.first_line = batch->range.is_open ? 0 : reader->line;
    piece.n_before = batch->range.is_open ? 0 : reader->n_elements;
    piece.state = reader->state;
    piece.file_begin = !reader->begun;
    piece.place = reader->place;
    reader->place += piece.end - piece.begin;
    BM_TRY(bm_grow(&batch->pieces, &batch->cap_pieces, batch->n_pieces + 1, sizeof *batch->pieces,
                   err));
    if (reader->format->table)
        BM_TRY(add_columns(reader, batch, &piece, err));
    batch->pieces[batch->n_pieces++] = piece;
    batch->len = piece.end;
    reader->begun = true;
    return BM_OK;
}

/* Fail with BM_ERR_INPUT: the header is longer than a document may be. */
static bm_status reader_header_too_long(const record_reader *reader, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_INPUT, bm_input_set_source(reader->set, reader->file)->name, 1,
                      "the header is longer than `%s`", bm_field_rows[BM_ROW_MAX_DOC_BYTES].name);
}

/* Use `row`, the first row of the current file, without its byte order mark. The number of cells in
 * this row is the limit for all rows. If the row is a header, it names the columns. */
static bm_status find_columns(record_reader *reader, bm_str row, bm_error *err)
{
    bm_source *source = bm_input_set_source(reader->set, reader->file);
    row = bm_without_line_end(row);
    if (reader->rules->header && row.len > reader->rules->longest)
        return reader_header_too_long(reader, err);
    if (reader->rules->header) {
        const XXH128_hash_t sum = XXH3_128bits(row.data, row.len);
        source->header = (bm_hash128){.lo = sum.low64, .hi = sum.high64};
    }
    const bm_first_row first = {.row = row, .syntax = reader->rules->syntax, .file = source->name};
    BM_TRY(bm_row_numbers_from(reader->rules, &first, reader->columns, err));
    return reader->rules->header && source->columns == NULL
               ? bm_row_names_if_absent(reader->rules, &first, reader->columns, &source->columns,
                                        err)
               : BM_OK;
}

/* Find the columns by the first row; the current piece is the first of its file. */
static bm_status reader_first_row(record_reader *reader, const cutter *c, bm_error *err)
{
    const char *data = c->batch->data;
    size_t begin = c->begin + bm_bom_bytes(data + c->begin, c->cut - c->begin);
    if (begin == c->cut)
        return BM_OK; /* an empty file: no documents */
    bm_scan scan = {.syntax = reader->rules->syntax};
    size_t end = reader->format->record_end(&scan, data, begin, c->cut);
    if (end == BM_SCAN_MORE)
        end = c->cut;
    return find_columns(reader, (bm_str){.data = data + begin, .len = end - begin}, err);
}

/* Track the next `len` bytes of the current file. BM_ERR_FORMAT: bytes before the position to check
 * have changed. */
static bm_status reader_saw(const record_reader *reader, const char *data, size_t len,
                            bm_error *err)
{
    if (reader->watch.tracker == NULL)
        return BM_OK;
    return bm_content_tracker_add(reader->watch.tracker, data, len,
                                  bm_input_set_source(reader->set, reader->file)->name, err);
}

/* End the current file, which was read to its end. BM_ERR_FORMAT: the file ended before the
 * position to check. */
static bm_status reader_end_file(record_reader *reader, bm_error *err)
{
    const char *name = bm_input_set_source(reader->set, reader->file)->name;
    reader->open = false;
    reader->file++;
    return reader->watch.tracker == NULL ? BM_OK
                                         : bm_content_tracker_end(reader->watch.tracker, name, err);
}

#define SKIP_BLOCK ((size_t)64 << 10)
#define END_BYTES  5u /* a byte order mark and a line ending do not count as a record's bytes */

/* --- broken files --- */

/* Skip the rest of the current file, which is broken (reader->broken.error). The bytes of the rest
 * are still read for their digest, as far as possible. */
static bm_status skip_rest(record_reader *reader, bm_error *err)
{
    reader->broken.rest = reader->file_end = true;
    return bm_input_ahead_pass_over(reader->bytes, err);
}

/* Handle the status of a bm_input_ahead function that has stored its error in reader->broken.error.
 * If the file itself is broken and bad records are skipped, skip the rest of the file. */
static bm_status check_read(record_reader *reader, bm_status status, bm_error *err)
{
    if (status == BM_OK)
        return BM_OK;
    if (bm_input_skips_bad_records(&reader->set->options) &&
        bm_input_ahead_is_broken(reader->bytes))
        return skip_rest(reader, err);
    if (err != NULL)
        *err = reader->broken.error;
    reader->broken.error.status = BM_OK;
    return status;
}

/* Like check_read, for calls after the first bytes of a file. If the file is damaged, the message
 * also advises how to use the records before the damage. */
static bm_status check_read_on(record_reader *reader, bm_status status, bm_error *err)
{
    if (status == BM_ERR_INPUT && !bm_input_skips_bad_records(&reader->set->options) &&
        bm_input_ahead_is_broken(reader->bytes))
        bm_advise_records_before(&reader->broken.error);
    return check_read(reader, status, err);
}

/* === reader rest ===
 *
 * Handles bytes that are not kept in memory or cannot be read: records that are too long, and the
 * rest of a broken file.
 *
 * A file may be broken where its bytes cannot be read (a failing disk, damaged compression) or
 * where its JSON array is malformed. If bad records are skipped, the rest of the file, from the
 * current record on, becomes one bad record. It is represented by an empty piece with `broken`, and
 * the next file follows. Otherwise reading ends with the error. */

/* Begin the current file. If the file is broken and bad records are skipped, this returns BM_OK
 * with reader->broken.rest set. */
static bm_status reader_begin_file(record_reader *reader, bm_error *err)
{
    const bm_source_cut *cut = &bm_input_set_source(reader->set, reader->file)->cut;
    reader->file_end = reader->broken.rest = false;
    reader->begun = cut->from > 0;
    reader->line = 1 + cut->lines;
    reader->n_elements = 0;
    reader->place = cut->from;
    reader->state = 0;
    reader->ranges.n_failed = reader->ranges.pause = 0;
    reader->ranges.opening.len = 0;
    if (reader->format->table)
        bm_row_numbers_begin(reader->rules, reader->columns);
    if (cut->first_row != NULL)
        BM_TRY(find_columns(reader, (bm_str){cut->first_row, cut->first_row_len}, err));
    if (reader->watch.tracker != NULL)
        bm_content_tracker_begin(reader->watch.tracker, reader->file);
    return check_read(
        reader, bm_input_ahead_begin(reader->bytes, reader->file, &reader->broken.error), err);
}

static bm_status reader_read(record_reader *reader, char *out, size_t cap, size_t *got,
                             bm_error *err)
{
    *got = 0;
    if (reader->broken.rest)
        return BM_OK;
    return check_read_on(
        reader, bm_input_ahead_read(reader->bytes, out, cap, got, &reader->broken.error), err);
}

/* Add an empty piece for the unreadable rest of the file, which begins on `line`. */
static bm_status reader_add_rest(record_reader *reader, bm_raw_batch *batch, uint64_t line,
                                 bm_error *err)
{
    char *why = NULL;
    BM_TRY(bm_string_format(&why, err, "the %sfile cannot be read: %s",
                            line > 1 ? "rest of the " : "", reader->broken.error.message));
    reader->line = line;
    reader->n_records++;
    if (reader->watch.tracker != NULL)
        bm_content_tracker_lose(reader->watch.tracker);
    bm_raw_piece piece = {.begin = batch->len, .end = batch->len, .broken = why, .file_end = true};
    bm_status status = reader_add_piece(reader, batch, piece, err);
    if (status != BM_OK)
        bm_free(why);
    reader->broken.error.status = BM_OK;
    return status;
}

/* Note that the JSON array of the current file is broken on `line`. The elements before the damage
 * are still handed out. After them, the rest of the file is passed over if bad records are skipped;
 * otherwise reading ends. */
static bm_status reader_break_off(record_reader *reader, uint64_t line, const char *why,
                                  bm_error *err)
{
    const char *name = bm_input_set_source(reader->set, reader->file)->name;
    (void)bm_fail_at(&reader->broken.error, BM_ERR_INPUT, name, line, "broken JSON: %s", why);
    if (bm_input_skips_bad_records(&reader->set->options))
        return skip_rest(reader, err);
    bm_advise_records_before(&reader->broken.error);
    reader->file_end = false;
    return BM_OK;
}

/* --- records that are too long --- */

/* The size of a record that was skipped. */
typedef struct skipped_record {
    uint64_t lines, bytes, words;
    bool wants_words; /* count words too, which takes a while */
    bool line_end;    /* the record ends with a newline */
} skipped_record;

static void count_bytes(skipped_record *record, const char *data, size_t len)
{
    record->lines += bm_count_newlines(data, len);
    record->bytes += len;
    record->line_end = len > 0 && data[len - 1] == '\n';
    if (record->wants_words)
        record->words += bm_long_words(data, len);
}

/* Read past the rest of a record that is too long. The first bytes of the record, up to offset
 * `shown` of the batch, are kept. The bytes that are read after the record go to `carry`. */
static bm_status skip_record(record_reader *reader, cutter *c, size_t shown, skipped_record *out,
                             bm_error *err)
{
    count_bytes(out, c->batch->data + c->begin, c->end - c->begin);
    BM_TRY(reader_saw(reader, c->batch->data + c->begin, c->end - c->begin, err));
    BM_TRY(bm_raw_batch_reserve(c->batch, shown + SKIP_BLOCK, err));
    char *rest = c->batch->data + shown;
    for (;;) {
        size_t got = 0;
        BM_TRY(reader_read(reader, rest, SKIP_BLOCK, &got, err));
        if (got == 0) {
            reader->file_end = true;
            break;
        }
        size_t at = reader->format->record_end(&c->scan, rest, 0, got);
        if (c->scan.broken != NULL)
            return reader_break_off(reader,
                                    reader->line + out->lines + bm_count_newlines(rest, c->scan.at),
                                    c->scan.broken, err);
        const size_t taken = at == BM_SCAN_MORE ? got : at;
        count_bytes(out, rest, taken);
        BM_TRY(reader_saw(reader, rest, taken, err));
        if (at != BM_SCAN_MORE)
            return bm_buf_add(&reader->carry, rest + at, got - at, err);
    }
    if (reader->format->elements && !reader->broken.rest)
        BM_TRY(reader_break_off(reader, reader->line, bm_elements_unclosed(&c->scan), err));
    return BM_OK;
}

/* Read past a record that is longer than a document may be, and add its first bytes as a piece of
 * their own.
 *
 * With `to_refuse`, the length of the record is still unknown, but the gate has not allowed the
 * record into memory. If the record turns out to be no longer than a document may be, call
 * gate->refuse. */
static bm_status reader_add_too_long(record_reader *reader, cutter *c, bool to_refuse,
                                     bm_error *err)
{
    const char *name = bm_input_set_source(reader->set, reader->file)->name;
    bm_raw_piece piece = {.begin = c->begin, .cut = true};
    piece.end = c->begin + bm_bom_bytes(c->batch->data + c->begin, reader->begun ? 0 : 3) +
                bm_too_long_prefix(reader->rules->longest);
    skipped_record skipped = {.wants_words = to_refuse};
    BM_TRY(skip_record(reader, c, piece.end, &skipped, err));
    if (reader->broken.rest) /* the record belongs to the unreadable rest */
        return reader_add_rest(reader, c->batch, reader->line, err);
    const bool broken = reader->broken.error.status != BM_OK;
    if (to_refuse && !broken && skipped.bytes - END_BYTES <= reader->rules->longest) {
        const bm_long_record record = {name, reader->line, skipped.bytes, skipped.words};
        return reader->watch.gate->refuse(reader->watch.gate->ctx, &record, err);
    }
    piece.n_behind = skipped.lines - skipped.line_end;
    if (reader->format->table && reader->rules->header && !reader->begun)
        return reader_header_too_long(reader, err);
    piece.file_end = reader->file_end;
    if (broken) /* an element that does not end is no record */
        piece = (bm_raw_piece){.begin = c->begin, .end = c->begin};
    bm_status status = reader_add_piece(reader, c->batch, piece, err);
    reader->line += skipped.lines;
    reader->n_elements += reader->format->elements;
    reader->place += skipped.bytes - (piece.end - piece.begin);
    reader->state = c->scan.state;
    reader->n_records++;
    return status;
}

#define PIECES_MAX  65536u /* the most pieces in a batch, each of another file */
#define OPENING_MAX 64u    /* the longest element opening that ranges use */
#define READ_AHEAD  4096u  /* bytes to read beyond the expected end of the records */
#define GROWTH_MAX  ((size_t)64 << 20)
/* A long record is read in steps of 1/16 of its bytes read so far, so that few bytes beyond its end
 * are read. */
#define AHEAD_PART 16u
#define CARRY_MAX  ((size_t)1 << 20) /* the most bytes of `carry` that stay allocated */
#define FIRST_MEAN 512.0             /* assumed mean size before any record was seen */

static void reader_close(record_reader *reader)
{
    if (reader == NULL)
        return;
    bm_input_ahead_close(reader->bytes);
    bm_content_tracker_close(reader->watch.tracker);
    bm_buf_reset(&reader->carry);
    bm_buf_reset(&reader->ranges.look);
    bm_buf_reset(&reader->ranges.opening);
    bm_free(reader->columns);
    pthread_mutex_destroy(&reader->ranges.lock);
    pthread_cond_destroy(&reader->ranges.moved);
    bm_free(reader);
}

/* A batch ends when it holds batch_bytes bytes or batch_records records (0: no limit). A longer
 * record makes its batch longer, to a little more than the longest document allowed. */
static bm_status reader_open(bm_input_set *set, size_t batch_bytes, uint32_t batch_records,
                             record_reader **out, bm_error *err)
{
    const bm_record_format *format = bm_record_format_of(bm_input_set_format(set));
    if (format == NULL)
        return bm_fail(err, BM_ERR_INTERNAL, "no reader for this format");
    record_reader *reader = NULL;
    BM_TRY(bm_new_zero(&reader, 1, err));
    pthread_mutex_init(&reader->ranges.lock, NULL);
    pthread_cond_init(&reader->ranges.moved, NULL);
    reader->set = set;
    reader->format = format;
    reader->rules = &set->rules;
    reader->batch_bytes = batch_bytes > 0 ? batch_bytes : 1;
    reader->batch_records = batch_records;
    reader->mean_bytes = FIRST_MEAN;
    size_t n_columns = bm_row_numbers_count(reader->rules);
    bm_status status = BM_OK;
    if ((reader->columns = bm_alloc_zero(n_columns, sizeof *reader->columns)) == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, n_columns * sizeof *reader->columns));
    status = bm_input_ahead_open(set, &reader->bytes, err);
out:
    if (status != BM_OK) {
        reader_close(reader);
        return status;
    }
    *out = reader;
    return BM_OK;
}

/* Set the gate (borrowed) that is called before a record longer than a batch is kept in memory;
 * NULL: every record may be. */
static void reader_set_gate(record_reader *reader, const bm_long_gate *gate)
{
    reader->watch.gate = gate;
}

/* Report the position after each batch (bm_raw_batch.place). If check->known is set, verify that
 * the bytes before the position `check` (copied) are unchanged. */
static bm_status reader_track(record_reader *reader, const bm_content_place *check, bm_error *err)
{
    return bm_content_tracker_open(check, &reader->watch.tracker, err);
}

/* Call this before several threads get batches. A thread that waits for the lock calls
 * bm_input_ahead_help, and a thread that got a batch calls reader_fill at once. */
static void reader_set_helped(record_reader *reader)
{
    bm_input_ahead_set_helped(reader->bytes);
    reader->ranges.wanted = true;
}

static bool reader_help(record_reader *reader)
{
    return bm_input_ahead_help(reader->bytes);
}

/* Cut after the last newline within the batch's size. If there is none, cut after the first newline
 * beyond that size. */
static void cut_at_newline(const record_reader *reader, cutter *c)
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

/* Cut at the beginning of an element that has begun, or at the end of the bytes read. So the bytes
 * between elements belong to this piece, and white space of any length needs no memory. */
static void cut_between_elements(cutter *c)
{
    bool begun = c->scan.begin != BM_SCAN_MORE;
    c->cut = begun ? c->scan.begin : c->end;
    c->state = begun ? c->scan.before : c->scan.state;
}

/* Walk from record to record until the batch is full. */
static void cut_by_records(record_reader *reader, cutter *c)
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
        c->walked++;
        reader->n_records++;
        c->full = at >= reader->batch_bytes ||
                  (reader->batch_records != 0 && reader->n_records >= reader->batch_records);
    }
}

/* Count the records up to the cut, and move the cut back if they exceed the limit of records. Used
 * only if every newline ends a record and the limit is unlikely to be reached. */
static void cut_by_count(record_reader *reader, cutter *c)
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

/* Is the limit of records likely to be reached before the batch is full? */
static bool may_reach_limit(const record_reader *reader)
{
    return reader->batch_records != 0 &&
           reader->mean_bytes * (double)reader->batch_records < 2 * (double)reader->batch_bytes;
}

/* Does the cutter have to find the end of each record? */
static bool walks(const record_reader *reader)
{
    return !reader->format->newline_ends || may_reach_limit(reader);
}

/* The number of bytes to read next. */
static size_t read_size(const record_reader *reader, const cutter *c)
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
    /* Bytes read beyond the end of a long record would have to be moved to the next batch. */
    size_t n = (c->end - c->begin) / AHEAD_PART;
    n = n > reader->batch_bytes ? n : reader->batch_bytes;
    uint64_t held = c->end - c->cut;
    if (reader->rules->longest < SIZE_MAX / 2 && n > reader->rules->longest + 6 - held)
        /* 6 bytes more: a line ending, a byte order mark, and one byte beyond the limit */
        n = (size_t)(reader->rules->longest + 6 - held);
    return n > 0 ? n : 1;
}

static bm_status read_more(record_reader *reader, cutter *c, size_t n, bm_error *err)
{
    /* The buffer of a long record doubles up to 64 MiB (GROWTH_MAX), and then grows by 64 MiB at a
     * time. Pages that were never written take no memory. */
    size_t room = c->end + n;
    if (c->end >= reader->batch_bytes && room > c->batch->cap)
        room += c->end < GROWTH_MAX ? c->end : GROWTH_MAX;
    BM_TRY(bm_raw_batch_reserve(c->batch, room, err));
    size_t got = 0;
    BM_TRY(reader_read(reader, c->batch->data + c->end, n, &got, err));
    c->end += got;
    reader->file_end = got == 0;
    return BM_OK;
}

static bm_status append_records(record_reader *reader, cutter *c, bm_error *err)
{
    bm_raw_batch *batch = c->batch;
    if (reader->broken.rest && !c->full) {
        c->end = c->cut; /* the record that has begun belongs to the unreadable rest */
    } else if (reader->file_end && !c->full) { /* the last record may have no line ending */
        reader->n_records += c->end > c->cut || reader->format->whole_file;
        c->cut = c->end;
    }
    if (reader->format->table && !reader->begun)
        BM_TRY(reader_first_row(reader, c, err));
    if (reader->format->elements && !reader->begun) {
        const bm_str opening = bm_element_opening(batch->data + c->begin, c->cut - c->begin);
        if (opening.len > 0 && opening.len <= OPENING_MAX)
            BM_TRY(bm_buf_add(&reader->ranges.opening, opening.data, opening.len, err));
    }
    if (c->cut < c->end)
        BM_TRY(bm_buf_add(&reader->carry, batch->data + c->cut, c->end - c->cut, err));
    bm_raw_piece piece = {.begin = c->begin, .end = c->cut};
    const bool rest = reader->broken.rest;
    piece.file_end = reader->file_end && c->cut == c->end && !rest;
    BM_TRY(reader_saw(reader, batch->data + c->begin, c->cut - c->begin, err));
    if (piece.end > piece.begin || !rest)
        BM_TRY(reader_add_piece(reader, batch, piece, err));
    if (!piece.file_end)
        reader->line +=
            c->counted ? c->lines : bm_count_newlines(batch->data + c->begin, c->cut - c->begin);
    reader->n_elements += reader->format->elements ? c->walked : 0;
    reader->state = c->state;
    if (rest && !c->full)
        BM_TRY(reader_add_rest(reader, batch, reader->line, err));
    return BM_OK;
}

/* Is the JSON array broken in the bytes read so far, or not closed at the end of the file? */
static bool is_broken(const record_reader *reader, const cutter *c)
{
    return c->scan.broken != NULL ||
           (reader->format->elements && reader->file_end && !reader->broken.rest &&
            c->seen == c->end &&
            (reader->begun ||
             c->end > c->begin + bm_bom_bytes(c->batch->data + c->begin, c->end - c->begin)) &&
            bm_elements_unclosed(&c->scan) != NULL);
}

static bm_status append_before_break(record_reader *reader, const cutter *c, bm_error *err)
{
    const char *data = c->batch->data;
    const char *why = c->scan.broken;
    size_t at = c->scan.at;
    if (why == NULL) {
        why = bm_elements_unclosed(&c->scan);
        at = c->scan.begin != BM_SCAN_MORE ? c->scan.begin : c->end;
    }
    const uint64_t line = reader->line + bm_count_newlines(data + c->begin, at - c->begin);
    /* an element that has begun belongs to the unreadable rest */
    const size_t rest_at = c->scan.begin != BM_SCAN_MORE ? c->scan.begin : at;
    bm_raw_piece piece = {.begin = c->begin, .end = c->cut};
    BM_TRY(reader_saw(reader, data + c->begin, c->cut - c->begin, err));
    BM_TRY(reader_break_off(reader, line, why, err));
    const bool rest = reader->broken.rest;
    if ((piece.end > piece.begin || !rest))
        BM_TRY(reader_add_piece(reader, c->batch, piece, err));
    if (rest)
        BM_TRY(reader_add_rest(
            reader, c->batch, reader->line + bm_count_newlines(data + c->begin, rest_at - c->begin),
            err));
    return BM_OK;
}

/* May n more bytes be kept in memory? The gate is called only for a record longer than a batch. */
static bm_status ask_gate(const record_reader *reader, const cutter *c, size_t n, bool *may,
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
static bm_status read_piece(record_reader *reader, bm_raw_batch *batch, bm_error *err)
{
    cutter c = {.batch = batch, .begin = batch->len, .end = batch->len + reader->carry.len};
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
    if (!reader->begun) { /* so that the byte order mark does not become part of the first field */
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
            return append_before_break(reader, &c, err);
        if (c.full || reader->file_end)
            return append_records(reader, &c, err);
        size_t bom = !reader->begun && c.cut == c.begin ? 3 : 0;
        if (c.cut == c.begin && c.end >= reader->batch_bytes &&
            reader->rules->longest < SIZE_MAX / 2 &&
            c.end - c.begin > reader->rules->longest + 2 + bom)
            return reader_add_too_long(reader, &c, false, err);
        const size_t n = read_size(reader, &c);
        bool may;
        BM_TRY(ask_gate(reader, &c, n, &may, err));
        if (!may)
            return reader_add_too_long(reader, &c, true, err);
        BM_TRY(read_more(reader, &c, n, err));
    }
}

/* --- ranges --- */

/* Bytes are not read as a range if they are fewer than 1/4 of a batch, or if no record seems to end
 * in the last 1/4 of them. */
#define RANGE_PART 4u
#define LOOK_BYTES 8192u
#define PAUSES_MAX 6u /* the most times that the pause doubles */

/* Wait until all ranges are finished. The reader then continues after the last accepted range. */
static void wait_for_ranges(record_reader *reader)
{
    reader_ranges *ranges = &reader->ranges;
    if (!ranges->ahead)
        return;
    pthread_mutex_lock(&ranges->lock);
    while (ranges->finished < ranges->given)
        pthread_cond_wait(&ranges->moved, &ranges->lock);
    pthread_mutex_unlock(&ranges->lock);
    reader->begun = !ranges->unbegun;
    if (ranges->failed) {
        reader->file = ranges->file;
        reader->state = ranges->state;
        ranges->pause = (1u << ranges->n_failed) - 1;
        ranges->n_failed += ranges->n_failed < PAUSES_MAX;
    }
    if (reader->open)
        reader->place = bm_input_ahead_place(reader->bytes) - reader->carry.len;
    ranges->ahead = ranges->failed = ranges->unbegun = false;
}

/* Find where a record seems to end in the last quarter of the `n` bytes at file offset `from`. The
 * search goes backwards. *end is 0 if no end was found. */
static bm_status find_end(record_reader *reader, const bm_stored_file *file, uint64_t from,
                          uint64_t n, uint64_t *end, bm_error *err)
{
    reader_ranges *ranges = &reader->ranges;
    const size_t most = (size_t)(n / RANGE_PART);
    bm_end_hint hint = {.syntax = reader->rules->syntax,
                        .opening = {ranges->opening.data, ranges->opening.len}};
    *end = 0;
    for (size_t len = 0, cut = 0, got; len < most && cut == 0;) {
        len = len == 0 ? LOOK_BYTES : 8 * len;
        len = len < most ? len : most;
        hint.sure = ranges->n_failed > 0 && len < most;
        BM_TRY(bm_buf_reserve(&ranges->look, len, err));
        if (bm_stored_read(file, ranges->look.data, len, from + n - len, &got, NULL) != BM_OK ||
            got < len)
            return BM_OK;
        cut = reader->format->likely_end(&hint, ranges->look.data, len);
        *end = cut > 0 ? from + n - len + cut : 0;
    }
    return BM_OK;
}

/* May the next batch be a range, if its bounds can be found? During a pause (reader->ranges.pause),
 * it may not, and each call shortens the pause. */
static bool allows_ranges(record_reader *reader)
{
    reader_ranges *ranges = &reader->ranges;
    if (ranges->pause > 0)
        ranges->pause--;
    else if (ranges->wanted) {
        pthread_mutex_lock(&ranges->lock);
        const bool on = !ranges->failed && (reader->format->whole_file || !may_reach_limit(reader));
        pthread_mutex_unlock(&ranges->lock);
        return on;
    }
    return false;
}

/* Can records be found without any bytes before them? True if the whole file is a record, or if
 * every newline ends a record. False for tables, because their first row is needed. */
static bool is_simple(const record_reader *reader)
{
    const bm_record_format *format = reader->format;
    return format->whole_file || (format->newline_ends && !format->table);
}

/* Can the bounds of a range be found at this point of the current file? */
static bool has_bounds(const record_reader *reader)
{
    const bm_record_format *format = reader->format;
    return format->likely_end != NULL && !reader->file_end &&
           (is_simple(reader) || reader->begun) &&
           (!format->elements || reader->ranges.opening.len > 0);
}

/* Find the end of the next range, which has at most as many bytes as fit into a batch. *out is 0 if
 * there is no range. */
static bm_status range_end(record_reader *reader, const bm_stored_file *file, size_t held,
                           uint64_t *out, bm_error *err)
{
    const bm_source *source = bm_input_set_source(reader->set, reader->file);
    const uint64_t at = reader->ranges.at,
                   end = source->cut.to != 0 ? source->cut.to : source->size;
    *out = 0;
    if (file == NULL || at >= end || held > reader->batch_bytes / 2)
        return BM_OK;
    const uint64_t room = reader->batch_bytes - held, n = end - at < room ? end - at : room;
    return n < reader->batch_bytes / RANGE_PART ? BM_OK : find_end(reader, file, at, n, out, err);
}

/* Make the batch the next range of the current file, which is still to be read. If there is no such
 * range, *taken is false, and the reader continues after the last accepted range. */
static bm_status append_range(record_reader *reader, bm_raw_batch *batch, bool *taken,
                              bm_error *err)
{
    reader_ranges *ranges = &reader->ranges;
    const bm_stored_file *file = bm_input_ahead_file(reader->bytes);
    *taken = false;
    if (has_bounds(reader) && allows_ranges(reader)) {
        const size_t held = ranges->ahead ? 0 : reader->carry.len;
        if (!ranges->ahead && file != NULL)
            ranges->at = bm_input_ahead_place(reader->bytes);
        const uint64_t at = ranges->at;
        uint64_t end;
        BM_TRY(range_end(reader, file, held, &end, err));
        *taken = end != 0;
        if (end != 0) {
            batch->range = (bm_raw_range){true, file, at, held, ranges->given};
            if (held > 0)
                memcpy(batch->data, reader->carry.data, held);
            BM_TRY(reader_add_piece(reader, batch, (bm_raw_piece){.end = held + (size_t)(end - at)},
                                    err));
            if (held > 0)
                reader->carry.len = 0;
            reader->state = reader->format->state_behind;
            ranges->at = end;
            ranges->ahead = true;
            ranges->given++;
            return BM_OK;
        }
    }
    wait_for_ranges(reader);
    return BM_OK;
}

/* Can the file be put into the batch unread, as one piece? */
static bool fits_whole(const record_reader *reader, const bm_raw_batch *batch, size_t file)
{
    const bm_source *source = bm_input_set_source(reader->set, file);
    return source->compression == BM_COMPRESSION_NONE && source->unreadable == NULL &&
           source->cut.from == 0 && source->cut.to == 0 &&
           bm_input_set_held(reader->set, file) == NULL && source->size <= BM_FILE_PIECE_BYTES &&
           source->size <= reader->batch_bytes - batch->len;
}

/* If whole files can be read as ranges, fill the batch with as many as fit; they are still to be
 * read. *taken is false, and the batch is empty, if there is no such file. The same holds if the
 * files have few bytes and the next file has to be read in order, because that file could share a
 * batch with them. */
static bm_status append_files(record_reader *reader, bm_raw_batch *batch, bool *taken,
                              bm_error *err)
{
    reader_ranges *ranges = &reader->ranges;
    const size_t first = reader->file, n_files = bm_input_set_count(reader->set),
                 most = reader->batch_records != 0 && reader->batch_records < PIECES_MAX
                            ? reader->batch_records
                            : PIECES_MAX;
    *taken = false;
    if (!is_simple(reader) || !allows_ranges(reader))
        return BM_OK;
    batch->range = (bm_raw_range){.is_open = true, .turn = ranges->given};
    reader->state = 0;
    while (reader->file < n_files && batch->n_pieces < most &&
           fits_whole(reader, batch, reader->file)) {
        const uint64_t size = bm_input_set_source(reader->set, reader->file)->size;
        reader->begun = false;
        reader->place = 0;
        BM_TRY(reader_add_piece(
            reader, batch,
            (bm_raw_piece){.begin = batch->len, .end = batch->len + (size_t)size, .file_end = true},
            err));
        reader->file++;
    }
    *taken = batch->n_pieces > 0 && (reader->file == n_files || batch->n_pieces == most ||
                                     batch->len >= reader->batch_bytes / RANGE_PART);
    if (!*taken) {
        batch->range.is_open = false;
        batch->n_pieces = batch->len = 0;
        reader->file = first;
        return BM_OK;
    }
    ranges->ahead = true;
    ranges->given++;
    return bm_raw_batch_reserve(batch, batch->len + 1, err);
}

/* Read the files of the batch. False: one cannot be read, or its size has changed. */
static bool read_files(const record_reader *reader, bm_raw_batch *batch)
{
    bool right = true;
    for (size_t i = 0; i < batch->n_pieces && right; i++) {
        bm_raw_piece *piece = &batch->pieces[i];
        const bm_source *source = bm_input_set_source(reader->set, piece->file);
        const size_t size = piece->end - piece->begin;
        size_t got = 0;
        bm_stored_file file;
        if (bm_stored_open(source->path, source->remote, NULL, &file, NULL) != BM_OK)
            return false;
        /* this tries to read one byte too many, which the next piece overwrites */
        char *data = batch->data + piece->begin;
        right = bm_stored_read(&file, data, size + 1, 0, &got, NULL) == BM_OK && got == size;
        bm_stored_close(&file);
        const XXH128_hash_t sum = XXH3_128bits(data, size);
        piece->digest = (bm_hash128){.lo = sum.low64, .hi = sum.high64};
        piece->first_line = 1;
    }
    return right;
}

/* Read the part of a file that is the batch's range. */
static bool read_range(const bm_raw_batch *batch)
{
    const bm_raw_range *range = &batch->range;
    const size_t n = batch->len - range->held;
    size_t got = 0;
    return bm_stored_read(range->file, batch->data + range->held, n, range->at, &got, NULL) ==
               BM_OK &&
           got == n;
}

/* Accept a batch of whole files. All of them were read, and had their expected sizes. All batches
 * before this one are finished. */
static bm_status accept_files(record_reader *reader, bm_raw_batch *batch, bm_error *err)
{
    for (size_t i = 0; i < batch->n_pieces; i++) {
        const bm_raw_piece *piece = &batch->pieces[i];
        const char *name = bm_input_set_source(reader->set, piece->file)->name;
        const size_t size = piece->end - piece->begin;
        BM_TRY(bm_input_ahead_pass_source(reader->bytes, piece->file, piece->digest, size, err));
        if (reader->watch.tracker == NULL)
            continue;
        bm_content_tracker_begin(reader->watch.tracker, piece->file);
        BM_TRY(bm_content_tracker_add(reader->watch.tracker, batch->data + piece->begin, size, name,
                                      err));
        BM_TRY(bm_content_tracker_end(reader->watch.tracker, name, err));
    }
    return BM_OK;
}

/* Accept a batch after its range was read as expected. All batches before it are finished
 * already. */
static bm_status accept_range(record_reader *reader, bm_raw_batch *batch, uint64_t lines,
                              uint64_t n_records, bm_error *err)
{
    const bm_raw_range *range = &batch->range;
    if (range->file == NULL) {
        BM_TRY(accept_files(reader, batch, err));
    } else {
        bm_raw_piece *piece = &batch->pieces[batch->n_pieces - 1];
        piece->first_line = reader->line;
        piece->n_before = reader->n_elements;
        reader->line += lines;
        reader->n_elements += reader->format->elements ? n_records : 0;
        bm_input_ahead_pass(reader->bytes, batch->data + range->held, batch->len - range->held);
        BM_TRY(reader_saw(reader, batch->data, batch->len, err));
    }
    batch->bytes_read = bm_input_ahead_stored(reader->bytes);
    if (reader->watch.tracker != NULL)
        batch->place = bm_content_tracker_place(reader->watch.tracker);
    return BM_OK;
}

/* Drop a batch because its range, or an earlier one, is not as expected. The reader reads the bytes
 * of the range again. */
static bm_status drop_range(record_reader *reader, bm_raw_batch *batch, bm_error *err)
{
    const bm_raw_piece *piece = &batch->pieces[batch->range.file == NULL ? 0 : --batch->n_pieces];
    if (!reader->ranges.failed) {
        reader->ranges.file = piece->file;
        reader->ranges.state = piece->state;
    }
    reader->ranges.unbegun = reader->ranges.unbegun || piece->file_begin;
    batch->n_pieces = batch->range.file == NULL ? 0 : batch->n_pieces;
    batch->len = 0;
    return bm_buf_add(&reader->carry, batch->data, batch->range.held, err);
}

/* Does the batch consist of whole records? Counts them in *n; if the batch has several files of
 * lines, *n is an upper bound. `lines` is the number of newlines in the batch. */
static bool is_whole(const record_reader *reader, const bm_raw_batch *batch, uint64_t lines,
                     uint64_t *n)
{
    const bm_record_format *format = reader->format;
    bm_scan scan = {.state = batch->pieces[batch->n_pieces - 1].state,
                    .syntax = reader->rules->syntax};
    *n = format->whole_file ? batch->n_pieces
                            : lines + (batch->range.file == NULL ? batch->n_pieces : 0);
    if (format->newline_ends || format->whole_file)
        return true;
    size_t at = 0, next;
    for (*n = 0; at < batch->len; at = next, ++*n)
        if ((next = format->record_end(&scan, batch->data, at, batch->len)) == BM_SCAN_MORE)
            return false;
    return true;
}

/* If the batch is a range, read it, while other threads may be in `next` or other fills. Then the
 * range is accepted. Ranges are accepted one at a time, in input order, because line numbers and
 * digests continue from the range before. *in_turn grows by the seconds that accepting takes.
 *
 * A range that is not as expected is removed from the batch, and the reader reads it again. After a
 * failure the batch cannot be parsed, but no other fill waits for it. */
static bm_status reader_fill(record_reader *reader, bm_raw_batch *batch, double *in_turn,
                             bm_error *err)
{
    reader_ranges *ranges = &reader->ranges;
    bm_raw_range *range = &batch->range;
    if (!range->is_open)
        return BM_OK;
    bool right = range->file == NULL ? read_files(reader, batch) : read_range(batch);
    const uint64_t lines = right ? bm_count_newlines(batch->data, batch->len) : 0;
    uint64_t n_records = 0;
    right = right && is_whole(reader, batch, lines, &n_records) &&
            (reader->batch_records == 0 || n_records <= reader->batch_records);
    pthread_mutex_lock(&ranges->lock);
    while (ranges->finished != range->turn)
        pthread_cond_wait(&ranges->moved, &ranges->lock);
    right = right && !ranges->failed;
    if (n_records > 0)
        reader->mean_bytes += ((double)batch->len / (double)n_records - reader->mean_bytes) / 2;
    pthread_mutex_unlock(&ranges->lock);
    double mark = bm_clock_seconds();
    const bm_status status =
        right ? accept_range(reader, batch, lines, n_records, err) : drop_range(reader, batch, err);
    range->is_open = false;
    *in_turn += bm_clock_seconds() - mark;
    pthread_mutex_lock(&ranges->lock);
    ranges->failed = ranges->failed || !right || status != BM_OK;
    ranges->finished++;
    pthread_cond_broadcast(&ranges->moved);
    pthread_mutex_unlock(&ranges->lock);
    return status;
}

static bool is_full(const record_reader *reader, const bm_raw_batch *batch)
{
    return batch->len >= reader->batch_bytes || batch->n_pieces >= PIECES_MAX ||
           (reader->batch_records != 0 && reader->n_records >= reader->batch_records);
}

static bm_status fill_batch(record_reader *reader, bm_raw_batch *batch, bm_error *err)
{
    for (;;) {
        bool taken = false;
        if (!reader->open) {
            if (batch->n_pieces == 0)
                BM_TRY(append_files(reader, batch, &taken, err));
            if (taken)
                return BM_OK;
            wait_for_ranges(reader);
            if (reader->file == bm_input_set_count(reader->set) || is_full(reader, batch))
                return BM_OK;
            BM_TRY(reader_begin_file(reader, err));
            reader->open = true;
        }
        if (batch->len == 0)
            BM_TRY(append_range(reader, batch, &taken, err));
        if (taken)
            return BM_OK;
        BM_TRY(read_piece(reader, batch, err));
        if (!batch->pieces[batch->n_pieces - 1].file_end)
            return BM_OK; /* the batch is full */
        BM_TRY(reader_end_file(reader, err));
    }
}

/* Get the next batch, which the caller owns (bm_raw_batch_free). *out is NULL at the end. */
static bm_status reader_next(record_reader *reader, bm_raw_batch **out, bm_error *err)
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
        wait_for_ranges(reader);
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
    if (!batch->range.is_open)
        batch->bytes_read = bm_input_ahead_stored(reader->bytes);
    if (reader->watch.tracker != NULL && !batch->range.is_open)
        batch->place = bm_content_tracker_place(reader->watch.tracker);
    *out = batch;
    return BM_OK;
}

/* === source records ===
 *
 * A batch source that consists of the reader and the parser (parser.h). */

typedef struct records {
    bm_batch_source base;
    record_reader *reader; /* NULL: not begun */
    bm_parser *splitter;   /* counts the records of skipped batches; opened when needed */
    /* The types of the records read so far, for each file; NULL: the format's records have no
     * types. */
    bm_record_types *types;
    pthread_mutex_t types_lock;
} records;

typedef struct records_parser {
    bm_batch_parser base;
    records *source;
    bm_parser *parser;
    bm_read_again *again; /* opened when needed */
} records_parser;

static bool records_reads(bm_format format)
{
    return bm_record_format_of(format) != NULL;
}

static bm_status records_open(bm_input_set *inputs, bm_batch_source **out, bm_error *err)
{
    records *source = NULL;
    BM_TRY(bm_new_zero(&source, 1, err));
    if (bm_record_format_of(bm_input_set_format(inputs))->role != NULL &&
        bm_new_zero(&source->types, bm_input_set_count(inputs), err) != BM_OK) {
        bm_free(source);
        return BM_ERR_NOMEM;
    }
    pthread_mutex_init(&source->types_lock, NULL);
    source->base = (bm_batch_source){
        .ops = &bm_source_records,
        .inputs = inputs,
        .copies = !bm_record_format_of(bm_input_set_format(inputs))->whole_file,
        .reads_again = bm_input_set_reads_again(inputs),
    };
    *out = &source->base;
    return BM_OK;
}

static void records_end(bm_batch_source *base)
{
    records *source = (records *)base;
    bm_parser_close(source->splitter);
    reader_close(source->reader);
    source->splitter = NULL;
    source->reader = NULL;
}

static bm_status records_begin(bm_batch_source *base, const bm_batch_limits *limits, bm_error *err)
{
    records *source = (records *)base;
    records_end(base);
    for (size_t i = 0; source->types != NULL && i < bm_input_set_count(base->inputs); i++)
        source->types[i] = (bm_record_types){0};
    BM_TRY(reader_open(base->inputs, limits->bytes, limits->docs, &source->reader, err));
    reader_set_gate(source->reader, limits->gate);
    if (limits->helped)
        reader_set_helped(source->reader);
    if (limits->places != NULL)
        BM_TRY(reader_track(source->reader, limits->places, err));
    return BM_OK;
}

static void records_free_batch(bm_source_batch *base)
{
    bm_raw_batch_free(((bm_records_batch *)base)->raw);
    bm_free(base);
}

static void copy_progress(bm_records_batch *batch)
{
    batch->base.bytes_read = batch->raw->bytes_read;
    batch->base.place = batch->raw->place;
}

static bm_status records_next(bm_batch_source *base, bm_source_batch **out, bm_error *err)
{
    records *source = (records *)base;
    bm_raw_batch *raw = NULL;
    *out = NULL;
    BM_TRY(reader_next(source->reader, &raw, err));
    if (raw == NULL)
        return BM_OK;
    bm_records_batch *batch = bm_alloc_zero(1, sizeof *batch);
    if (batch == NULL) {
        bm_raw_batch_free(raw);
        return bm_fail_nomem(err, sizeof *batch);
    }
    batch->raw = raw;
    copy_progress(batch);
    *out = &batch->base;
    return BM_OK;
}

static bm_status records_fill(bm_batch_source *base, bm_source_batch *batch, double *in_turn,
                              bm_error *err)
{
    bm_records_batch *of = (bm_records_batch *)batch;
    const bm_status status = reader_fill(((records *)base)->reader, of->raw, in_turn, err);
    copy_progress(of);
    return status;
}

static bool records_help(bm_batch_source *base)
{
    return reader_help(((records *)base)->reader);
}

/* Add the types of the records of a batch that was wholly parsed or counted. */
static void add_types(records *source, const bm_parser *parser)
{
    size_t n;
    const bm_file_types *files = bm_parser_types(parser, &n);
    if (n == 0)
        return;
    pthread_mutex_lock(&source->types_lock);
    for (size_t i = 0; i < n; i++)
        bm_record_types_join(&source->types[files[i].file], &files[i].types);
    pthread_mutex_unlock(&source->types_lock);
}

static bm_status records_check(bm_batch_source *base, uint32_t *file, uint64_t *n_other,
                               bm_error *err)
{
    const records *source = (records *)base;
    bm_status status = BM_OK;
    while (source->types != NULL && status == BM_OK && *file < bm_input_set_count(base->inputs)) {
        const bm_record_types *types = &source->types[*file];
        *n_other += types->n_other;
        status = bm_record_types_check(types, bm_batch_source_file(base, *file), err);
        ++*file;
    }
    return status;
}

static bm_status records_count(bm_batch_source *base, const bm_source_batch *batch, uint64_t *n,
                               bm_error *err)
{
    records *source = (records *)base;
    if (source->splitter == NULL)
        BM_TRY(bm_parser_open(base->inputs, &source->splitter, err));
    *n = 0;
    BM_TRY(bm_parser_count(source->splitter, ((const bm_records_batch *)batch)->raw, n, err));
    add_types(source, source->splitter);
    return BM_OK;
}

static void records_close(bm_batch_source *base)
{
    records_end(base);
    pthread_mutex_destroy(&((records *)base)->types_lock);
    bm_free_all(((records *)base)->types, base);
}

static bm_status records_open_parser(const bm_batch_source *base, bm_batch_parser **out,
                                     bm_error *err)
{
    records_parser *parser = NULL;
    BM_TRY(bm_new_zero(&parser, 1, err));
    parser->base.ops = &bm_source_records;
    parser->source = (records *)base; /* parsers add to the counts of the source under a lock */
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
    const records_parser *of = (records_parser *)parser;
    BM_TRY(bm_parser_run(of->parser, ((const bm_records_batch *)batch)->raw, fn, ctx, err));
    /* otherwise the types were counted when the records were skipped */
    if (batch->passed_over == 0)
        add_types(of->source, of->parser);
    return BM_OK;
}

static bm_status records_parse_again(bm_batch_parser *base, const bm_record_place *places, size_t n,
                                     bm_record_fn fn, void *ctx, bm_error *err)
{
    records_parser *parser = (records_parser *)base;
    if (parser->again == NULL)
        BM_TRY(bm_read_again_open(parser->source->base.inputs, &parser->again, err));
    return bm_read_again_run(parser->again, parser->parser, places, n, fn, ctx, err);
}

static bm_status records_split(bm_batch_parser *parser, const bm_source_batch *batch,
                               bm_record_fn fn, void *ctx, bm_error *err)
{
    return bm_parser_split(((records_parser *)parser)->parser,
                           ((const bm_records_batch *)batch)->raw, fn, ctx, err);
}

static void records_close_parser(bm_batch_parser *base)
{
    bm_parser_close(((records_parser *)base)->parser);
    bm_read_again_close(((records_parser *)base)->again);
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
    .fill = records_fill,
    .help = records_help,
    .count = records_count,
    .check = records_check,
    .end = records_end,
    .free_batch = records_free_batch,
    .close = records_close,
    .open_parser = records_open_parser,
    .parse = records_parse,
    .parse_again = records_parse_again,
    .split = records_split,
    .close_parser = records_close_parser,
};
