/* reader_rest.c -- see the header.
 *
 * Tests: tests/unit/input/test_reader.c, tests/cli/cases/broken_files.sh */
#include "input/reader_rest.h"

#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "input/input_set_state.h"
#include "input/newlines.h"
#include "input/reader_piece.h"

#define SKIP_BLOCK ((size_t)64 << 10)
#define END_BYTES  5u /* a byte order mark and a line ending are not of a record */

/* --- broken files --- */

/* reader->broken.error says why the current file is broken: skip the rest of it. Its bytes are still read, as
 * far as that goes, for their digest. */
static bm_status give_up(struct bm_reader *reader, bm_error *err)
{
    reader->broken.rest = reader->file_end = true;
    return bm_input_ahead_pass_over(reader->bytes, err);
}

/* A call of input_bytes ended so, with its error in reader->broken.error. */
static bm_status settle(struct bm_reader *reader, bm_status status, bm_error *err)
{
    if (status == BM_OK)
        return BM_OK;
    if (reader->set->options.on_error == BM_ON_ERROR_SKIP &&
        bm_input_ahead_is_broken(reader->bytes))
        return give_up(reader, err);
    if (err != NULL)
        *err = reader->broken.error;
    reader->broken.error.status = BM_OK;
    return status;
}

bm_status bm_reader_begin_file(struct bm_reader *reader, bm_error *err)
{
    const bm_source_cut *cut = &bm_input_set_source(reader->set, reader->file)->cut;
    reader->file_end = reader->broken.rest = false;
    reader->begun = cut->from > 0;
    reader->line = 1 + cut->lines;
    reader->state = 0;
    if (cut->header != NULL)
        BM_TRY(bm_reader_columns(reader, (bm_str){cut->header, cut->header_len}, err));
    if (reader->watch.tracker != NULL)
        bm_content_tracker_begin(reader->watch.tracker, reader->file);
    return settle(reader, bm_input_ahead_begin(reader->bytes, reader->file, &reader->broken.error),
                  err);
}

bm_status bm_reader_read(struct bm_reader *reader, char *out, size_t cap, size_t *got,
                         bm_error *err)
{
    *got = 0;
    if (reader->broken.rest)
        return BM_OK;
    return settle(reader, bm_input_ahead_read(reader->bytes, out, cap, got, &reader->broken.error),
                  err);
}

bm_status bm_reader_add_rest(struct bm_reader *reader, bm_raw_batch *batch, uint64_t line,
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
    bm_status status = bm_reader_add_piece(reader, batch, piece, err);
    if (status != BM_OK)
        bm_free(why);
    reader->broken.error.status = BM_OK;
    return status;
}

bm_status bm_reader_break_off(struct bm_reader *reader, uint64_t line, const char *why,
                              bm_error *err)
{
    const char *name = bm_input_set_source(reader->set, reader->file)->name;
    (void)bm_fail_at(&reader->broken.error, BM_ERR_INPUT, name, line, "broken JSON: %s", why);
    if (reader->set->options.on_error == BM_ON_ERROR_SKIP)
        return give_up(reader, err);
    reader->file_end = false;
    return BM_OK;
}

/* --- records that are too long --- */

/* What is known of a record that was read over. */
typedef struct skipped_record {
    uint64_t lines, bytes, words;
    bool wants_words; /* they take a while to count */
    bool line_end;    /* it ends with a newline */
} skipped_record;

static void count_bytes(skipped_record *record, const char *data, size_t len)
{
    record->lines += bm_count_newlines(data, len);
    record->bytes += len;
    record->line_end = len > 0 && data[len - 1] == '\n';
    if (record->wants_words)
        record->words += bm_long_words(data, len);
}

/* Read over the rest of a record that is too long, behind the bytes that are shown of it; what
 * follows the record goes to carry. */
static bm_status skip_record(struct bm_reader *reader, bm_cutter *c, size_t shown,
                             skipped_record *out, bm_error *err)
{
    count_bytes(out, c->batch->data + c->begin, c->end - c->begin);
    BM_TRY(bm_reader_saw(reader, c->batch->data + c->begin, c->end - c->begin, err));
    BM_TRY(bm_raw_batch_reserve(c->batch, shown + SKIP_BLOCK, err));
    char *rest = c->batch->data + shown;
    for (;;) {
        size_t got = 0;
        BM_TRY(bm_reader_read(reader, rest, SKIP_BLOCK, &got, err));
        if (got == 0) {
            reader->file_end = true;
            break;
        }
        size_t at = reader->format->record_end(&c->scan, rest, 0, got);
        if (c->scan.broken != NULL)
            return bm_reader_break_off(
                reader, reader->line + out->lines + bm_count_newlines(rest, c->scan.at),
                c->scan.broken, err);
        const size_t taken = at == BM_SCAN_MORE ? got : at;
        count_bytes(out, rest, taken);
        BM_TRY(bm_reader_saw(reader, rest, taken, err));
        if (at != BM_SCAN_MORE)
            return bm_buf_add(&reader->carry, rest + at, got - at, err);
    }
    if (reader->format->elements && !reader->broken.rest)
        BM_TRY(bm_reader_break_off(reader, reader->line, bm_elements_unclosed(&c->scan), err));
    return BM_OK;
}

bm_status bm_reader_take_too_long(struct bm_reader *reader, bm_cutter *c, bool to_refuse,
                                  bm_error *err)
{
    const char *name = bm_input_set_source(reader->set, reader->file)->name;
    bm_raw_piece piece = {.begin = c->begin, .cut = true};
    piece.end = c->begin + bm_bom_bytes(c->batch->data + c->begin, reader->begun ? 0 : 3) +
                bm_too_long_prefix(reader->rules->longest);
    skipped_record skipped = {.wants_words = to_refuse};
    BM_TRY(skip_record(reader, c, piece.end, &skipped, err));
    if (reader->broken.rest) /* the record is part of what cannot be read */
        return bm_reader_add_rest(reader, c->batch, reader->line, err);
    const bool broken = reader->broken.error.status != BM_OK;
    if (to_refuse && !broken && skipped.bytes - END_BYTES <= reader->rules->longest) {
        const bm_long_record record = {name, reader->line, skipped.bytes, skipped.words};
        return reader->watch.gate->refuse(reader->watch.gate->ctx, &record, err);
    }
    piece.n_behind = skipped.lines - skipped.line_end;
    if (reader->format->table && reader->rules->header && !reader->begun)
        return bm_reader_header_too_long(reader, err);
    piece.file_end = reader->file_end;
    if (broken) /* an element without an end is no record */
        piece = (bm_raw_piece){.begin = c->begin, .end = c->begin};
    bm_status status = bm_reader_add_piece(reader, c->batch, piece, err);
    reader->line += skipped.lines;
    reader->state = c->scan.state;
    reader->n_records++;
    return status;
}
