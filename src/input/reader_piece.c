/* reader_piece.c -- see the header.
 *
 * Tests: tests/unit/input/test_reader.c */
#include "input/reader_piece.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/utf8.h"
#include "input/input_set_state.h"
#include "input/record_formats.h"

/* The columns of a file stand once in a batch, before the first of its pieces there. */
static bm_status add_columns(struct bm_reader *reader, bm_raw_batch *batch, bm_raw_piece *piece,
                             bm_error *err)
{
    const bm_raw_piece *last = batch->n_pieces > 0 ? &batch->pieces[batch->n_pieces - 1] : NULL;
    if (last != NULL && last->file == piece->file) {
        piece->columns = last->columns;
        return BM_OK;
    }
    size_t n = bm_columns_count(reader->rules);
    BM_TRY(bm_grow(&batch->columns, &batch->cap_columns, batch->n_columns + n,
                   sizeof *batch->columns, err));
    memcpy(batch->columns + batch->n_columns, reader->columns, n * sizeof *reader->columns);
    piece->columns = batch->n_columns;
    batch->n_columns += n;
    return BM_OK;
}

bm_status bm_reader_add_piece(struct bm_reader *reader, bm_raw_batch *batch, bm_raw_piece piece,
                              bm_error *err)
{
    piece.file = (uint32_t)reader->file;
    piece.first_line = reader->line;
    piece.state = reader->state;
    piece.file_begin = !reader->begun;
    BM_TRY(bm_grow(&batch->pieces, &batch->cap_pieces, batch->n_pieces + 1, sizeof *batch->pieces,
                   err));
    if (reader->format->table)
        BM_TRY(add_columns(reader, batch, &piece, err));
    batch->pieces[batch->n_pieces++] = piece;
    batch->len = piece.end;
    reader->begun = true;
    return BM_OK;
}

bm_status bm_reader_header_too_long(const struct bm_reader *reader, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_INPUT, bm_input_set_source(reader->set, reader->file)->name, 1,
                      "the header is longer than `max_doc_bytes`");
}

bm_status bm_reader_header(struct bm_reader *reader, const bm_cutter *c, bm_error *err)
{
    const char *data = c->batch->data;
    size_t begin = c->begin + bm_bom_bytes(data + c->begin, c->cut - c->begin);
    if (begin == c->cut)
        return BM_OK; /* an empty file: no documents */
    bm_scan scan = {.syntax = reader->rules->syntax};
    size_t end = reader->format->record_end(&scan, data, begin, c->cut);
    if (end == BM_SCAN_MORE)
        end = c->cut;
    return bm_reader_columns(reader, (bm_str){.data = data + begin, .len = end - begin}, err);
}

bm_status bm_reader_columns(struct bm_reader *reader, bm_str row, bm_error *err)
{
    row = bm_without_line_end(row);
    if (row.len > reader->rules->longest)
        return bm_reader_header_too_long(reader, err);
    const char *name = bm_input_set_source(reader->set, reader->file)->name;
    const XXH128_hash_t sum = XXH3_128bits(row.data, row.len);
    reader->set->sources[reader->file].header = (bm_hash128){.lo = sum.low64, .hi = sum.high64};
    const bm_header_row header = {.row = row, .syntax = reader->rules->syntax, .file = name};
    return bm_columns_from_header(reader->rules, &header, reader->columns, err);
}

bm_status bm_reader_saw(const struct bm_reader *reader, const char *data, size_t len, bm_error *err)
{
    if (reader->watch.tracker == NULL)
        return BM_OK;
    return bm_content_tracker_add(reader->watch.tracker, data, len,
                                  bm_input_set_source(reader->set, reader->file)->name, err);
}

bm_status bm_reader_end_file(struct bm_reader *reader, bm_error *err)
{
    const char *name = bm_input_set_source(reader->set, reader->file)->name;
    reader->open = false;
    reader->file++;
    return reader->watch.tracker == NULL ? BM_OK
                                         : bm_content_tracker_end(reader->watch.tracker, name, err);
}
