/* SPDX-License-Identifier: Apache-2.0 */
/* input_shard.c -- decides which files belong to a share, and where the share begins and ends in
 * them.
 *
 * If every newline ends a record, a share's end is found by reading on from the end of its range.
 * In CSV the file has to be read from its beginning.
 *
 * Tests: tests/unit/input/test_input_shard.c, tests/cli/cases/shard.sh */
#include "input/input_shard.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/files.h"
#include "base/utf8.h"
#include "input/record_rules.h"
#include "input/record_format.h"
#include "input/input_set.h"
#include "input/tables.h"
#include "model/stream_hash.h"

#define BLOCK_BYTES ((size_t)1 << 20)

/* --- where a record begins --- */

/* A walk over the records of a file. */
typedef struct walk {
    const struct bm_input_set *set;
    bm_source *source;
    const bm_record_format *format;
    bm_stored_file file;
    bm_scan scan;
    char *block;
    size_t pos, len;   /* pos: bytes of the block already examined; len: bytes in it */
    uint64_t block_at; /* the block's offset in the file */
    uint64_t record;   /* offset of the current record */
    /* bytes of the current record so far, without a byte order mark and newlines */
    uint64_t content;
    bool blank;       /* the bytes counted in `content` are all white space */
    uint64_t lines;   /* newlines before pos */
    uint64_t records; /* records before the current one; a header does not count */
    bm_buf first_row;
} walk;

static bool is_blank(const char *data, size_t len)
{
    size_t i = 0;
    while (i < len && (data[i] == ' ' || data[i] == '\t' || data[i] == '\r' || data[i] == '\n'))
        i++;
    return i == len;
}

static bm_status read_block(walk *w, bm_error *err)
{
    BM_TRY(bm_check_cancelled(w->set->callbacks, err));
    w->block_at += w->len;
    w->pos = 0;
    BM_TRY(bm_stored_read(&w->file, w->block, BLOCK_BYTES, w->block_at, &w->len, err));
    if (w->block_at == 0)
        w->pos = bm_bom_bytes(w->block, w->len);
    return BM_OK;
}

static bool has_header(const walk *w)
{
    return w->format->table && w->set->rules.header;
}

static void end_record(walk *w, uint64_t end)
{
    const bool header = has_header(w) && w->record == 0;
    const bool none = w->format->skip_blank && w->blank && w->content <= w->set->rules.longest;
    w->records += !header && !none;
    w->record = end;
    w->content = 0;
    w->blank = true;
}

/* Go to the first record that begins at or after `goal`, or to the end of the file. */
static bm_status walk_to(walk *w, uint64_t goal, bm_error *err)
{
    while (w->record < goal) {
        if (w->pos == w->len) {
            BM_TRY(read_block(w, err));
            if (w->len == 0) { /* the last record may have no newline; a byte order mark is no
                                  record */
                if (w->content > 0)
                    end_record(w, w->block_at);
                w->record = w->block_at;
                return BM_OK;
            }
        }
        const char *data = w->block + w->pos;
        const size_t at = w->format->record_end(&w->scan, w->block, w->pos, w->len);
        const size_t len = (at == BM_SCAN_MORE ? w->len : at) - w->pos;
        /* if a row is too long, its first bytes are enough for the reader to report it */
        if (w->format->table && w->record == 0 && w->first_row.len <= w->set->rules.longest + 2)
            BM_TRY(bm_buf_add(&w->first_row, data, len, err));
        w->lines += w->format->newline_ends ? at != BM_SCAN_MORE : bm_count_newlines(data, len);
        w->content += len - (at != BM_SCAN_MORE);
        w->blank = w->blank && is_blank(data, len);
        w->pos += len;
        if (at != BM_SCAN_MORE)
            end_record(w, w->block_at + at);
    }
    return BM_OK;
}

/* Continue the walk at offset `at`. Only for formats in which every newline ends a record. */
static void walk_from(walk *w, uint64_t at)
{
    w->block_at = w->record = at;
    w->pos = w->len = 0;
}

/* Cut the source to the records that begin at offset `from` or later, but before `to`. */
static bm_status cut(const struct bm_input_set *set, bm_source *source, uint64_t from, uint64_t to,
                     bm_error *err)
{
    walk w = {.set = set,
              .source = source,
              .format = bm_record_format_of(set->format),
              .file = BM_STORED_FILE_NONE,
              .scan = {.syntax = set->rules.syntax},
              .blank = true};
    bm_source_cut *out = &source->cut;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new(&w.block, BLOCK_BYTES, err));
    BM_TRY_OUT(bm_stored_open(source->path, source->remote, NULL, &w.file, err));
    BM_TRY_OUT(walk_to(&w, from, err));
    out->from = w.record;
    out->lines = w.lines;
    out->records = w.records;
    out->to = source->size;
    if (to < source->size && w.record < to) {
        if (w.format->newline_ends && w.record < to - 1)
            walk_from(&w, to - 1);
        status = walk_to(&w, to, err);
    }
    if (to < source->size)
        out->to = w.record;
    if (out->from > 0 && w.first_row.len > 0) {
        out->first_row = w.first_row.data;
        out->first_row_len = w.first_row.len;
        w.first_row = (bm_buf){0};
    }
out:
    bm_stored_close(&w.file);
    bm_buf_reset(&w.first_row);
    bm_free(w.block);
    return status;
}

/* --- which files --- */

/* The offset i * total / n at which range i of n begins. For i = n it is the end of the last
 * range. */
static uint64_t range_begin(uint64_t total, uint32_t i, uint32_t n)
{
    return total / n * i + total % n * i / n;
}

static bool can_be_cut(const struct bm_input_set *set, const bm_source *source)
{
    const bm_record_format *format = bm_record_format_of(set->format);
    return format != NULL && !format->elements && !format->whole_file && format->role == NULL &&
           source->compression == BM_COMPRESSION_NONE && source->unreadable == NULL;
}

/* A range: bytes `from` … to-1 of all files. */
typedef struct range {
    uint64_t from, to;
    bool last;
} range;

/* Does a file or row group that is not divided, from byte `begin` to `end`, belong to the range?
 * Its middle decides. */
static bool has_middle(const range *r, uint64_t begin, uint64_t end)
{
    const uint64_t middle = begin + (end - begin) / 2;
    return middle >= r->from && (middle < r->to || r->last);
}

/* State of choosing the row groups of a table that belong to a range. */
typedef struct row_groups {
    const range *range;
    /* begin: offset of the file's first byte among the bytes of all inputs; size: size of the
     * file */
    uint64_t begin, size;
    uint64_t all, rows; /* all: rows of the file; rows: rows before the current row group */
    uint64_t first, n;  /* first: the range's first row; n: the range's number of rows */
} row_groups;

static bool count_rows(void *ctx, uint64_t rows)
{
    row_groups *g = ctx;
    g->all += rows;
    return true;
}

/* The byte offset in the file that is assumed for a row. */
static uint64_t row_offset(const row_groups *g, uint64_t row)
{
    __extension__ const unsigned __int128 product = (unsigned __int128)g->size * row;
    return (uint64_t)(product / g->all);
}

static bool pick_rows(void *ctx, uint64_t rows)
{
    row_groups *g = ctx;
    const uint64_t begin = g->begin + row_offset(g, g->rows),
                   end = g->begin + row_offset(g, g->rows + rows);
    if (rows > 0 && has_middle(g->range, begin, end)) {
        g->first = g->n == 0 ? g->rows : g->first;
        g->n += rows;
    }
    g->rows += rows;
    return true;
}

static bm_status read_groups(const bm_source *source, bool (*group)(void *, uint64_t),
                             row_groups *groups, bm_error *err)
{
    struct ArrowArrayStream stream = {0};
    const bm_table_wish wish = {.path = bm_source_place(source),
                                .bytes = bm_table_bytes_of(source),
                                .parquet = true,
                                .group = group,
                                .group_ctx = groups};
    BM_TRY(bm_table_open(source->name, &wish, &stream, err));
    stream.release(&stream);
    return BM_OK;
}

/* Cut a Parquet file to the row groups in the range. A file that cannot be read is not divided, so
 * that only one share reports it. */
static bm_status cut_groups(bm_source *source, const range *r, uint64_t begin, bool *has,
                            bm_error *err)
{
    row_groups g = {.range = r, .begin = begin, .size = source->size};
    bm_source_cut *out = &source->cut;
    bm_error why = {0};
    bm_status status = read_groups(source, count_rows, &g, &why);
    /* if each row has at least a byte, no part is empty */
    const bool cuts = status == BM_OK && g.all > 0 && g.all <= g.size;
    if (cuts)
        status = read_groups(source, pick_rows, &g, &why);
    const bool whole = !cuts || status == BM_ERR_INPUT;
    *has = whole ? has_middle(r, begin, begin + source->size) : g.n > 0;
    if (status != BM_OK && status != BM_ERR_INPUT && err != NULL)
        *err = why;
    if (!whole && *has && g.n < g.all)
        *out = (bm_source_cut){.from = row_offset(&g, g.first),
                               .to = row_offset(&g, g.first + g.n),
                               .lines = g.first,
                               .records = g.first,
                               .rows = g.n};
    return status == BM_ERR_INPUT ? BM_OK : status;
}

/* Find whether the share has the file that begins at byte `begin` of the concatenated inputs, or a
 * part of that file, and set *has. If the share has only a part, cut the source to this part. */
static bm_status cut_part(const struct bm_input_set *set, bm_source *source, uint64_t begin,
                          bool *has, bm_error *err)
{
    const bm_input_shard *shard = &set->shard;
    const uint64_t from = range_begin(set->total_bytes, shard->index - 1, shard->of),
                   to = range_begin(set->total_bytes, shard->index, shard->of),
                   end = begin + source->size;
    const range r = {from, to, shard->index == shard->of};
    const bool within = begin >= from && end <= to;
    if (set->format == BM_FORMAT_PARQUET && source->unreadable == NULL && !within && begin < to &&
        end > from)
        return cut_groups(source, &r, begin, has, err);
    if (!can_be_cut(set, source) || source->size == 0) {
        *has = has_middle(&r, begin, end);
        return BM_OK;
    }
    const uint64_t first = from > begin ? from : begin, last = to < end ? to : end;
    *has = first < last;
    return !*has || (first == begin && last == end)
               ? BM_OK
               : cut(set, source, first - begin, last - begin, err);
}

/* Digest all inputs (XXH3 128): each name with its NUL, and each size in digits with a newline. */
static bm_status digest_whole(struct bm_input_set *set, bm_error *err)
{
    bm_piece_hash *hash = NULL;
    char size[32];
    BM_TRY(bm_piece_hash_open(0, &hash, err));
    for (size_t i = 0; i < set->n_sources; i++) {
        const bm_source *source = &set->sources[i];
        const int len = snprintf(size, sizeof size, "%" PRIu64 "\n", source->size);
        bm_piece_hash_add(hash, source->name, strlen(source->name) + 1);
        bm_piece_hash_add(hash, size, (size_t)len);
    }
    set->shard.whole = bm_piece_hash_end(hash);
    bm_piece_hash_close(hash);
    return BM_OK;
}

const bm_input_shard *bm_input_set_shard_of(const struct bm_input_set *set)
{
    return &set->shard;
}

bm_status bm_input_set_shard(struct bm_input_set *set, uint32_t index, uint32_t of, bm_error *err)
{
    if (set->unknown_size)
        return bm_fail_field(err, "shard",
                             "`shard` of standard input or a pipe, whose size is not known");
    if (set->format == BM_FORMAT_HASHES)
        return bm_fail_field(err, "shard", "`shard` of `format` hashes, whose array is not cut");
    set->shard = (bm_input_shard){.index = index, .of = of};
    BM_TRY(digest_whole(set, err));
    uint64_t begin = 0, bytes = 0;
    size_t n = 0, i = 0;
    bm_status status = BM_OK;
    for (; status == BM_OK && i < set->n_sources; i++) {
        bm_source *source = &set->sources[i];
        const uint64_t size = source->size;
        bool has = false;
        status = cut_part(set, source, begin, &has, err);
        begin += size;
        if (source->remote != NULL)
            bm_remote_bound(source->remote, source->cut.from,
                            !has                  ? 0
                            : source->cut.to != 0 ? source->cut.to
                                                  : UINT64_MAX);
        if (!has) {
            bm_source_reset(source);
            continue;
        }
        bytes += source->cut.to != 0 ? source->cut.to - source->cut.from : size;
        set->sources[n++] = *source;
    }
    for (; i < set->n_sources; i++)
        bm_source_reset(&set->sources[i]);
    set->n_sources = n;
    set->total_bytes = bytes;
    return status;
}
