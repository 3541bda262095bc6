/* SPDX-License-Identifier: Apache-2.0 */
/* test_batch_sources.c -- each format has its source, which reports its abilities, reads the same
 * data again, and skips records. Covers batch_source.c, reader.c and batch_sources.c; columns have
 * their own test, and tests/unit/sign/test_ingest_read.c makes full runs. */
#include "results/npy.h"
#include "sources/batch_sources.h"
#include "tests/unit/input/read_records.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_npy.h"

typedef struct opened {
    scratch dir;
    bm_input_set *set;
    bm_batch_source *source;
} opened;

static opened open_bytes(bm_format format, const void *data, size_t len)
{
    opened o = {.dir = scratch_open()};
    const char *paths[] = {scratch_put(&o.dir, "in", data, len)};
    bm_input_options options = test_options(paths, 1, format);
    bm_error err = {0};
    world_ok(bm_input_set_open(&options, NULL, 0, NULL, &o.set, &err), &err);
    world_ok(bm_batch_source_open(o.set, &o.source, &err), &err);
    return o;
}

static const char *put_array(scratch *dir, const char *name, const char *type, const void *cells,
                             size_t n)
{
    char file[BM_NPY_HEADER_BYTES + 256];
    world_npy_header(type, n, 0, file);
    memcpy(file + BM_NPY_HEADER_BYTES, cells, n * 8);
    return scratch_put(dir, name, file, BM_NPY_HEADER_BYTES + n * 8);
}

static opened open_hashes(void)
{
    static const uint64_t hashes[] = {10, 11, 12, 20, 21, 22};
    static const int64_t offsets[] = {0, 3, 3, 6};
    opened o = {.dir = scratch_open()};
    const char *paths[] = {put_array(&o.dir, "h.npy", "<u8", hashes, 6)};
    bm_input_options options = test_options(paths, 1, BM_FORMAT_HASHES);
    options.offsets_path = put_array(&o.dir, "o.npy", "<i8", offsets, 4);
    cr_assert_eq(bm_input_set_open(&options, NULL, 0, NULL, &o.set, NULL), BM_OK);
    cr_assert_eq(bm_batch_source_open(o.set, &o.source, NULL), BM_OK);
    return o;
}

static void close_all(opened *o)
{
    bm_batch_source_close(o->source);
    bm_input_set_close(o->set);
    scratch_close(&o->dir);
}

/* What the callback received: "id=text|" for documents, "id=h,h,|" for hashes, raw bytes for a
 * split. */
typedef struct seen {
    char text[400];
    size_t n;
} seen;

static bm_status on_document(void *ctx, const bm_record *r, bm_error *err)
{
    (void)err;
    seen *s = ctx;
    s->n++;
    char *at = s->text + strlen(s->text);
    at += sprintf(at, "%.*s=%.*s", (int)r->id.len, r->id.data, (int)r->text.len,
                  r->text.len > 0 ? r->text.data : "");
    for (size_t i = 0; i < r->n_hashes; i++)
        at += sprintf(at, "%llu,", (unsigned long long)r->hashes[i]);
    strcpy(at, "|");
    return BM_OK;
}

static bm_status on_bytes(void *ctx, const bm_record *r, bm_error *err)
{
    (void)err;
    seen *s = ctx;
    s->n++;
    strncat(s->text, r->raw.data, r->raw.len);
    return BM_OK;
}

typedef bm_status (*run_fn)(bm_batch_parser *, const bm_source_batch *, bm_record_fn, void *,
                            bm_error *);

static bm_status read_source(bm_batch_source *source, uint32_t docs, uint64_t skip, run_fn run,
                             seen *out)
{
    const bm_batch_limits limits = {.bytes = 1 << 20, .hashes = 1 << 20, .docs = docs};
    bm_record_fn fn = run == bm_batch_parser_split ? on_bytes : on_document;
    bm_batch_next next = {.got = BM_BATCH_READ};
    *out = (seen){0};
    bm_status status = bm_batch_source_begin(source, &limits, skip, NULL);
    bm_batch_parser *parser = world_open(bm_batch_parser, source);
    while (status == BM_OK && next.got != BM_BATCH_END) {
        status = bm_batch_source_next(source, &next, NULL);
        cr_assert_eq(next.batch != NULL, status == BM_OK && next.got == BM_BATCH_READ);
        if (next.batch != NULL)
            status = run(parser, next.batch, fn, out, NULL);
        bm_batch_source_free_batch(source, next.batch);
    }
    bm_batch_parser_close(parser);
    bm_batch_source_end(source);
    return status;
}

Test(batch_sources, a_source_says_what_it_can_do)
{
    opened lines = open_bytes(BM_FORMAT_LINES, "a\n", 2),
           files = open_bytes(BM_FORMAT_FILES, "a", 1);
    opened hashes = open_hashes();
    cr_assert_str_eq(lines.source->ops->name, "records");
    cr_assert(lines.source->ops->has_text && lines.source->copies);
    cr_assert_null(lines.source->extra_path);
    cr_assert(files.source->ops->has_text && !files.source->copies, "only their names are kept");
    cr_assert_str_eq(hashes.source->ops->name, "hashes");
    cr_assert(!hashes.source->ops->has_text && !hashes.source->copies);
    cr_assert_str_eq(hashes.source->extra_path, scratch_at(&hashes.dir, "o.npy"));
    cr_assert_str_eq(bm_batch_source_file(lines.source, 0), scratch_at(&lines.dir, "in"));
    cr_assert_eq(bm_batch_source_total_bytes(lines.source), 2);
    close_all(&lines);
    close_all(&files);
    close_all(&hashes);
    for (bm_format f = BM_FORMAT_AUTO; f <= BM_FORMAT_HASHES; f++)
        cr_assert_eq(bm_format_has_text(f), f != BM_FORMAT_HASHES);
}

Test(batch_sources, documents_and_bytes_are_those_of_the_file_as_often_as_it_is_read)
{
    static const char csv[] = "id,text\nx,one\n\"y\",\"t\nwo\"\r\nz,";
    opened o = open_bytes(BM_FORMAT_CSV, csv, sizeof csv - 1);
    for (uint32_t docs = 0; docs < 4; docs++) {
        seen s;
        cr_assert_eq(read_source(o.source, docs, 0, bm_batch_parser_run, &s), BM_OK);
        cr_assert_str_eq(s.text, "x=one|y=t\nwo|z=|");
        cr_assert_eq(read_source(o.source, docs, 0, bm_batch_parser_split, &s), BM_OK);
        cr_assert_str_eq(s.text, csv);
        cr_assert_eq(s.n, 4, "the header is given too");
    }
    close_all(&o);
}

Test(batch_sources, records_that_are_passed_over_are_not_given)
{
    static const char *const right[] = {"x=one|y=|z=three|", "y=|z=three|", "z=three|", ""};
    static const char tsv[] = "id\ttext\nx\tone\ny\t\nz\tthree\n";
    opened o = open_bytes(BM_FORMAT_TSV, tsv, sizeof tsv - 1);
    for (uint32_t docs = 0; docs < 4; docs++) {
        seen s;
        for (uint64_t skip = 0; skip <= 3; skip++) {
            cr_assert_eq(read_source(o.source, docs, skip, bm_batch_parser_run, &s), BM_OK);
            cr_assert_str_eq(s.text, right[skip]);
        }
        cr_assert_eq(read_source(o.source, docs, 4, bm_batch_parser_run, &s), BM_ERR_FORMAT);
    }
    close_all(&o);
}

Test(batch_sources, rows_of_hashes_have_their_numbers_for_ids)
{
    static const char *const right[] = {"0=10,11,12,|1=|2=20,21,22,|", "1=|2=20,21,22,|",
                                        "2=20,21,22,|", ""};
    opened o = open_hashes();
    for (uint32_t docs = 0; docs < 4; docs++)
        for (uint64_t skip = 0; skip <= 3; skip++) {
            seen s;
            cr_assert_eq(read_source(o.source, docs, skip, bm_batch_parser_run, &s), BM_OK);
            cr_assert_str_eq(s.text, right[skip]);
        }
    close_all(&o);
}

Test(batch_sources, hashes_are_one_array_with_offsets)
{
    static const uint64_t one[] = {1};
    SCRATCH dir = scratch_open();
    const char *path = put_array(&dir, "h.npy", "<u8", one, 1);
    const char *paths[] = {path, path};
    for (size_t n = 1; n <= 2; n++) {
        bm_input_options options = test_options(paths, n, BM_FORMAT_HASHES);
        bm_batch_source *source = NULL;
        bm_error err = {0};
        bm_input_set *set = world_open(bm_input_set, &options, NULL, 0, NULL);
        world_refused(bm_batch_source_open(set, &source, &err), BM_ERR_USAGE, &err,
                      n == 1 ? "`offsets_path`" : "(2 given)");
        cr_assert_null(source);
        bm_input_set_close(set);
    }
}

Test(batch_sources, a_format_that_nobody_reads_is_refused)
{
    SCRATCH dir = scratch_open();
    const char *path = scratch_put(&dir, "in", "x", 1);
    const char *paths[] = {path};
    bm_input_options options = test_options(paths, 1, (bm_format)99);
    bm_batch_source *source = NULL;
    bm_input_set *set = world_open(bm_input_set, &options, NULL, 0, NULL);
    cr_assert_eq(bm_batch_source_open(set, &source, NULL), BM_ERR_INTERNAL);
    bm_input_set_close(set);
}
