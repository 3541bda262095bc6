/* SPDX-License-Identifier: Apache-2.0 */
/* test_reader_rest.c -- truncated files, if bad records are skipped: the same records for any batch
 * size, in full parsing and in splitting, followed by those of the next files. A gzip member that
 * lacks only its checksum is read whole, so the expected records are known. */
#include <zlib.h>

#include "read_records.h"

enum { CAP = 1 << 16 };

/* Writes the text to DIR/name as one gzip member without its last `cut` bytes. The last eight bytes
 * of a member are its checksum and length. */
static const char *put_gz(scratch *dir, const char *name, const char *text, size_t cut)
{
    static char packed[CAP];
    z_stream z = {0};
    cr_assert_eq(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)text;
    z.avail_in = (uInt)strlen(text);
    z.next_out = (Bytef *)packed;
    z.avail_out = CAP;
    cr_assert_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t len = CAP - z.avail_out;
    deflateEnd(&z);
    return scratch_put(dir, name, packed, len - cut);
}

static bm_input_options skipping(const char *const *paths, size_t n, bm_format format)
{
    bm_input_options o = test_options(paths, n, format);
    o.on_error = BM_ON_ERROR_SKIP;
    return o;
}

Test(reader_rest, the_rest_is_one_bad_record_at_its_line_for_any_batches)
{
    static const size_t bytes[] = {1, 7, 20, 64, 1 << 20};
    SCRATCH dir = scratch_open();
    const char *a = put_gz(&dir, "a.gz", "one\ntwo\nthree\nfo", 4),
               *b = put_gz(&dir, "b.gz", "five\n", 0);
    const char *paths[] = {a, b};
    bm_input_options o = skipping(paths, 2, BM_FORMAT_LINES);
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        for (uint32_t limit = 0; limit < 6; limit++)
            for (int split = 0; split < 2; split++) {
                records CLEANED r = test_read(&o, bytes[i], limit, split != 0);
                cr_assert_eq(r.status, BM_OK, "%s", r.err.message);
                cr_assert_eq(r.n, 5, "%zu bytes, %u records", bytes[i], limit);
                cr_assert_str_eq(r.all[2].raw.data, "three\n");
                assert_bad(r.all[3], "the rest of the file cannot be read: the gzip data is cut");
                cr_assert_eq(r.all[3].line, 4);
                cr_assert_eq(r.all[3].file, 0);
                cr_assert_eq(r.all[3].raw.len, 0);
                cr_assert_str_eq(r.all[4].raw.data, "five\n");
                cr_assert_eq(r.all[4].file, 1);
            }
    o.on_error = BM_ON_ERROR_FAIL;
    records CLEANED r = test_read(&o, 1 << 20, 0, false);
    cr_assert_eq(r.status, BM_ERR_INPUT);
    cr_assert_str_eq(r.err.file, a);
}

Test(reader_rest, a_record_that_is_too_long_and_breaks_off_is_part_of_the_rest)
{
    SCRATCH dir = scratch_open();
    const char *a = put_gz(&dir, "a.gz", "one\nfar longer than ten bytes", 4);
    const char *b = put_gz(&dir, "b.gz", "far longer than ten bytes\ntwo\n", 4);
    const char *paths[] = {a, b};
    bm_input_options o = skipping(paths, 2, BM_FORMAT_LINES);
    o.max_doc_bytes = 10;
    for (size_t batch = 1; batch < 40; batch += 3) {
        records CLEANED r = test_read(&o, batch, 0, false);
        cr_assert_eq(r.status, BM_OK);
        cr_assert_eq(r.n, 5, "batches of %zu: %zu records", batch, r.n);
        assert_text(r.all[0], "one");
        assert_bad(r.all[1], "cannot be read");
        cr_assert_eq(r.all[1].line, 2);
        assert_bad(r.all[2], "longer than 10 bytes");
        cr_assert_eq(r.all[2].line, 1);
        assert_text(r.all[3], "two");
        assert_bad(r.all[4], "cannot be read");
        cr_assert_eq(r.all[4].line, 3);
    }
}

Test(reader_rest, a_broken_file_has_its_digest_and_one_that_changed_since_is_an_error)
{
    SCRATCH dir = scratch_open();
    const char *a = put_gz(&dir, "a.gz", "one\ntwo\n", 2);
    const char *paths[] = {a};
    bm_input_options o = skipping(paths, 1, BM_FORMAT_LINES);
    bm_input_set *set;
    cr_assert_eq(bm_input_set_open(&o, NULL, 0, NULL, &set, NULL), BM_OK);
    for (int pass = 0; pass < 3; pass++) {
        records CLEANED r = {0};
        if (pass == 2)
            put_gz(&dir, "a.gz", "one\ntwo\nthree\n", 2);
        test_read_set(set, 1 << 20, 0, pass > 0, &r);
        if (pass < 2) {
            cr_assert_eq(r.status, BM_OK);
            cr_assert_eq(r.n, 3);
            cr_assert_eq(bm_input_set_source(set, 0)->bytes_read,
                         bm_input_set_source(set, 0)->size);
            cr_assert_neq(bm_input_set_source(set, 0)->digest.lo, 0);
        } else {
            cr_assert_eq(r.status, BM_ERR_INPUT);
            cr_assert(strstr(r.err.message, "changed"), "%s", r.err.message);
        }
    }
    bm_input_set_close(set);
}

Test(reader_rest, what_is_not_there_is_a_bad_record_but_not_if_there_is_nothing_else)
{
    SCRATCH dir = scratch_open();
    char missing[600];
    const char *a = scratch_put(&dir, "a", "one\n", 4);
    snprintf(missing, sizeof missing, "%s/missing", dir.root);
    const char *paths[] = {missing, a, missing};
    bm_input_options o = skipping(paths, 3, BM_FORMAT_LINES);
    records CLEANED r = test_read(&o, 1 << 20, 0, false);
    cr_assert_eq(r.status, BM_OK);
    cr_assert_eq(r.n, 3);
    assert_bad(r.all[0], "the file cannot be read: cannot open: ");
    cr_assert_eq(r.all[0].line, 1);
    assert_text(r.all[1], "one");
    assert_bad(r.all[2], "the file cannot be read: cannot open: ");
    o.n_paths = 1;
    bm_input_set *set;
    bm_error err = {0};
    cr_assert_eq(bm_input_set_open(&o, NULL, 0, NULL, &set, &err), BM_ERR_IO);
    cr_assert_str_eq(err.file, missing);
}
