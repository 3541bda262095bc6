/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_cut.c -- arbitrary bytes as a file, and ranges that are cut out of its records' texts. The
 * first byte chooses the format and the fields, the next seven the ranges. The remaining records
 * must have the texts without the ranges, and every byte of a record that no edit touches must
 * still be there. */
#include <sys/mman.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "each_record.h"
#include "fuzz_check.h"
#include "tests/world/world_random.h"

#define RANGES_MAX 64u

typedef struct cutting {
    bm_format format;
    uint64_t random;
    bm_buf file, wanted, found; /* remaining records; texts, each preceded by its length */
    size_t n_left;
    bm_text_range ranges[RANGES_MAX];
} cutting;

static uint64_t draw(cutting *c, uint64_t below)
{
    const uint64_t drawn = world_random(&c->random);
    return below == 0 ? 0 : drawn % below;
}

static void add(bm_buf *out, const void *data, size_t len)
{
    bm_error err;
    CHECK(bm_buf_add(out, data, len, &err) == BM_OK);
}

static void add_text(bm_buf *out, bm_str text)
{
    const uint64_t len = text.len;
    add(out, &len, sizeof len);
    add(out, text.data, text.len);
}

static bm_str text_of(const bm_record *r)
{
    return r->as_read.data != NULL ? r->as_read : r->text;
}

/* Does a character begin here? Units never end inside one. */
static bool is_begin(bm_str text, uint64_t at)
{
    return at >= text.len || ((unsigned char)text.data[at] & 0xC0) != 0x80;
}

/* Is it a lone surrogate? Two that become adjacent would form one character. */
static bool is_surrogate(bm_str text, uint64_t at)
{
    return at + 1 < text.len && (unsigned char)text.data[at] == 0xED &&
           (unsigned char)text.data[at + 1] >= 0xA0;
}

/* Chooses some ranges of a part, in order. */
static size_t choose(cutting *c, bm_str text, const bm_text_part *part, size_t n)
{
    uint64_t at = part->range.from;
    while (n < RANGES_MAX && at < part->range.to && draw(c, 4) != 0) {
        uint64_t from = at + draw(c, part->range.to - at),
                 to = from + 1 + draw(c, part->range.to - from);
        while (from < part->range.to && !is_begin(text, from))
            from++;
        while (to < part->range.to && (!is_begin(text, to) || is_surrogate(text, to)))
            to++;
        to = to < part->range.to ? to : part->range.to;
        /* a carriage return before LF would become part of the line's end */
        const bool ends = to == part->range.to && from > 0 && text.data[from - 1] == '\r';
        if (from < to && !ends)
            c->ranges[n++] = (bm_text_range){from, to};
        at = to + 1; /* leaves at least one byte between two ranges */
    }
    return n;
}

static bool is_blank(const bm_buf *text, size_t from)
{
    for (size_t i = from; i < text->len; i++)
        if (strchr(" \n\t\r\v\f", text->data[i]) == NULL || text->data[i] == '\0')
            return false;
    return true;
}

/* A bm_record_fn. */
static bm_status cut(void *ctx, const bm_record *r, bm_error *err)
{
    cutting *c = ctx;
    if (r->bad)
        return BM_OK;
    const bm_str text = text_of(r);
    const bm_text_part *parts = NULL;
    const bm_record_edit *edits = NULL;
    size_t n_parts = 0, n_edits = 0, n = 0;
    CHECK(bm_parser_text_parts(r->parser, r, &parts, &n_parts, err) == BM_OK);
    for (size_t i = 0; i < n_parts; i++) {
        CHECK(parts[i].range.from <= parts[i].range.to && parts[i].range.to <= text.len);
        CHECK(i == 0 || parts[i].range.from == parts[i - 1].range.to + 1);
        CHECK(parts[i].begin <= parts[i].end && parts[i].end <= r->raw.len);
        if (parts[i].coding != BM_CODING_FIXED)
            n = choose(c, text, &parts[i], n);
    }
    CHECK(n_parts > 0 && parts[n_parts - 1].range.to == text.len);
    const size_t before = c->wanted.len;
    uint64_t at = 0, left = text.len;
    for (size_t i = 0; i < n; i++)
        left -= c->ranges[i].to - c->ranges[i].from;
    add(&c->wanted, &left, sizeof left);
    const size_t begin = c->wanted.len;
    for (size_t i = 0; i < n; i++) {
        add(&c->wanted, text.data + at, (size_t)(c->ranges[i].from - at));
        at = c->ranges[i].to;
    }
    add(&c->wanted, text.data + at, (size_t)(text.len - at));
    if (is_blank(&c->wanted, begin)) { /* a document that becomes blank is removed */
        c->wanted.len = before;
        return BM_OK;
    }
    CHECK(bm_parser_cut(r->parser, r, c->ranges, n, &edits, &n_edits, err) == BM_OK);
    CHECK(n > 0 || n_edits == 0);
    if (c->format == BM_FORMAT_JSON)
        add(&c->file, c->n_left > 0 ? "," : "[", 1);
    size_t raw = 0;
    for (size_t i = 0; i < n_edits; i++) {
        CHECK(raw <= edits[i].from && edits[i].from <= edits[i].to && edits[i].to <= r->raw.len);
        add(&c->file, r->raw.data + raw, edits[i].from - raw);
        add(&c->file, edits[i].with, edits[i].n_with);
        raw = edits[i].to;
    }
    add(&c->file, r->raw.data + raw, r->raw.len - raw);
    c->n_left++;
    return BM_OK;
}

/* A bm_record_fn. */
static bm_status take(void *ctx, const bm_record *r, bm_error *err)
{
    cutting *c = ctx;
    (void)err;
    CHECK(!r->bad);
    add_text(&c->found, text_of(r));
    return BM_OK;
}

static int memory_file(const void *data, size_t len, char path[64])
{
    const int fd = memfd_create("fuzz", 0);
    CHECK(fd >= 0);
    for (size_t at = 0; at < len;) {
        const ssize_t n = write(fd, (const char *)data + at, len - at);
        CHECK(n > 0);
        at += (size_t)n;
    }
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const bm_format formats[] = {BM_FORMAT_JSONL, BM_FORMAT_TSV,   BM_FORMAT_CSV,
                                        BM_FORMAT_LINES, BM_FORMAT_FILES, BM_FORMAT_JSON,
                                        BM_FORMAT_WET,   BM_FORMAT_CSV};
    static const char *const two[] = {"text", "t"}, *const lists[] = {"t[]", "text"};
    static const char header[] = "id,text,t\n", tabs[] = "id\ttext\tt\n";
    if (size < 8)
        return 0;
    cutting c = {.format = formats[data[0] & 7]};
    memcpy(&c.random, data + 1, 7);
    const bool table = c.format == BM_FORMAT_CSV || c.format == BM_FORMAT_TSV,
               json = c.format == BM_FORMAT_JSON || c.format == BM_FORMAT_JSONL;
    const char *first = c.format == BM_FORMAT_TSV ? tabs : header;
    bm_buf whole = {0};
    bm_error err = {0};
    char path[64];
    if (table)
        add(&whole, first, strlen(first));
    add(&whole, data + 8, size - 8);
    int fd = memory_file(whole.data, whole.len, path);
    const char *paths[] = {path};
    bm_input_options o = {.paths = paths,
                          .n_paths = 1,
                          .format = c.format,
                          .header = BM_HEADER_YES,
                          .max_doc_bytes = 1 << 20,
                          .on_error = BM_ON_ERROR_SKIP,
                          .text_fields = (data[0] & 16) != 0 && json ? lists : two,
                          .n_text_fields = !table && !json      ? 0
                                           : (data[0] & 8) != 0 ? 2
                                                                : 1,
                          .id_field = json || table ? "none" : NULL};
    if (table)
        add(&c.file, first, strlen(first));
    const record_batches batches = {(size_t)1 << 16, 0};
    const bm_status status = each_record(&o, batches, cut, &c, &err);
    if (c.format == BM_FORMAT_JSON && c.n_left > 0)
        add(&c.file, "]", 1);
    close(fd);
    if (status == BM_OK && c.n_left > 0) {
        fd = memory_file(c.file.data, c.file.len, path);
        CHECK(each_record(&o, batches, take, &c, &err) == BM_OK);
        close(fd);
        CHECK(fuzz_same(c.wanted.data, c.wanted.len, c.found.data, c.found.len));
    }
    bm_buf_reset(&whole);
    bm_buf_reset(&c.file);
    bm_buf_reset(&c.wanted);
    bm_buf_reset(&c.found);
    return 0;
}
