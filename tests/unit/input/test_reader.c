/* SPDX-License-Identifier: Apache-2.0 */
/* The reader: the same records for any batches, small files in one batch, streams read once and
 * twice, damage, and records too long to hold. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <zlib.h>
#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "read_lanes.h"
#include "tests/world/sized.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_random.h"

typedef struct sample {
    bm_format format;
    const char *text;
    size_t len;
} sample;

#define SAMPLE(format, text)                                                                       \
    {                                                                                              \
        format, text, sizeof(text) - 1                                                             \
    }

static const sample samples[] = {
    SAMPLE(BM_FORMAT_JSONL,
           "\xEF\xBB\xBF{\"id\":1,\"text\":\"one\"}\r\n\n \t\r\n{\"text\":\"tw\\u00f6\"}\n"
           "{\"text\":tru}\n{\"id\":\"x\",\"text\":\"a\xFFz\"}\n{\"id\":-0,\"text\":null}"),
    SAMPLE(BM_FORMAT_TSV, "id\ttext\r\na\tone\n\nb\ttwo\textra\r\nc\n\t\nd\t\xC3\xA9\xFF"),
    SAMPLE(BM_FORMAT_CSV,
           "\xEF\xBB\xBF\"id\",text\r\n1,\"a\"\"b\r\nc,\nd\"\r\n2,plain\n\n3,\"x\"y\n4,a\"b\n"
           "\"5\",\",\"\n6,\"open\n7,never\n"),
    SAMPLE(BM_FORMAT_LINES, "\xEF\xBB\xBF"
                            "first\n\nthird\r\n\r\n\xEF\xBB\xBFlast but \0 one\nlast"),
    SAMPLE(BM_FORMAT_FILES, "a whole\nfile\n"),
    SAMPLE(BM_FORMAT_JSONL, "\xEF\xBB\xBF"),
    SAMPLE(BM_FORMAT_TSV, "\xEF\xBB\xBFtext\n"),
    SAMPLE(BM_FORMAT_LINES, "\n"),
    SAMPLE(BM_FORMAT_LINES, ""),
    SAMPLE(BM_FORMAT_JSON,
           "\xEF\xBB\xBF \n[{\"id\":1,\"text\":\"o,]\"}\r\n,\n\n {\"text\":\n\"\\\"\"},7 ,"
           "{\"text\":tru},\n[[{}]] ,{\"text\":\"long enough\",\"x\":[{}]}\n ] \n\n"),
    SAMPLE(BM_FORMAT_JSON, "[]"),
    SAMPLE(BM_FORMAT_JSON, "[{\"text\":\"a\"},\n{\"text\":\"b\"}\n\n x,{}]"),
    SAMPLE(BM_FORMAT_JSON, "[{\"text\":\"a\"},\n{\"text\":\"b\"},\n\n  {\"te\nxt\":\"b"),
    SAMPLE(BM_FORMAT_JSON, "\n[{\"text\":\"a\",\n{\"text\":[1},\n\n  {}]"),
    SAMPLE(BM_FORMAT_JSON, "[ {} ,\n"),
};

Test(reader, records_are_the_same_for_every_batch_size_and_every_limit_of_records)
{
    SCRATCH dir = scratch_open();
    for (size_t s = 0; s < sizeof samples / sizeof *samples; s++) {
        const char *a = scratch_put(&dir, "a", samples[s].text, samples[s].len);
        const char *empty = scratch_put(&dir, "empty", "", 0);
        const char *paths[] = {a, empty, a, a, empty};
        bm_input_options o = test_options(paths, 5, samples[s].format);
        for (int split = 0; split < 2; split++)
            for (int limit = 0; limit < 2; limit++) { /* records too long, or not */
                o.max_doc_bytes = limit ? 9 : 1000;
                if (limit && (samples[s].format == BM_FORMAT_TSV))
                    o.max_doc_bytes = 7; /* "id\ttext" fits */
                records one = test_read(&o, 1 << 16, 0, split);
                const size_t step = sized(1, 2);
                for (size_t size = 1; size <= samples[s].len * 3 + 2; size += step) {
                    records r = test_read(&o, size, 0, split);
                    test_assert_same(&one, &r, samples[s].text, size);
                    test_free(&r);
                    r = test_read_by(&o, size, size % 5, split, 1 + size % 3);
                    test_assert_same(&one, &r, samples[s].text, size);
                    test_free(&r);
                }
                for (uint32_t n = 1; n <= 8; n++)
                    for (size_t size = 1; size <= 1 << 16; size = size * 4) {
                        records r = test_read(&o, size, n, split);
                        test_assert_same(&one, &r, samples[s].text, size);
                        test_free(&r);
                    }
                test_free(&one);
            }
    }
}

/* Rows with random quoting; a plain automaton is the reference for where they end. */
Test(reader, csv_rows_end_where_a_byte_by_byte_reference_says)
{
    SCRATCH dir = scratch_open();
    uint64_t x = 7;
    for (int round = 0; round < 300; round++) {
        char text[400];
        size_t len = world_below(&x, 200), starts[401], n_rows = 0;
        world_fill(text, len, x, "\"\"\",,\n\n\r ab");
        int quoted = 0, field_start = 1;
        for (size_t i = 0, row = 1; i < len; i++) {
            if (row)
                starts[n_rows++] = i;
            row = 0;
            if (quoted == 1) {
                quoted = text[i] == '"' ? 2 : 1;
                continue;
            }
            if (text[i] == '"' && (field_start || quoted == 2)) {
                quoted = 1;
                field_start = 0;
                continue;
            }
            quoted = 0;
            field_start = text[i] == ',' || text[i] == '\n';
            row = text[i] == '\n';
        }
        const char *path = scratch_put(&dir, "a.csv", text, len);
        const char *paths[] = {path}, *one[] = {"1"};
        bm_input_options o = test_options(paths, 1, BM_FORMAT_CSV);
        o.text_fields = one;
        o.n_text_fields = 1;
        for (size_t size = 1; size <= len + 1; size += 1 + size / 8) {
            records r = test_read(&o, size, 0, true);
            cr_assert_eq(r.n, n_rows);
            const char *pos = text;
            for (size_t i = 0; i < r.n; i++) {
                cr_assert_eq((size_t)(pos - text), starts[i]);
                pos += r.all[i].raw.len;
            }
            cr_assert_eq((size_t)(pos - text), len);
            test_free(&r);
        }
    }
}

Test(reader, thousands_of_small_files_share_batches_in_order)
{
    enum { N = 3000 };
    SCRATCH dir = scratch_open();
    char name[64], text[64];
    const char *paths[] = {dir.root};
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "%05d", i);
        snprintf(text, sizeof text, "text of %d", i);
        scratch_put(&dir, name, text, i % 7 == 0 ? 0 : strlen(text));
    }
    bm_input_options o = test_options(paths, 1, BM_FORMAT_AUTO);
    records r = test_read(&o, 1 << 20, 0, false);
    cr_assert_eq(r.status, BM_OK);
    cr_assert_eq(r.n, N); /* an empty file is an empty document */
    cr_assert_eq(r.n_batches, 1);
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "%05d", i);
        snprintf(text, sizeof text, "text of %d", i);
        cr_assert_eq(r.all[i].file, (uint32_t)i);
        cr_assert_eq(r.all[i].line, 1);
        assert_id(r.all[i], scratch_at(&dir, name));
        cr_assert_str_eq(r.all[i].text.data, i % 7 == 0 ? "" : text);
    }
    test_free(&r);
    r = test_read(&o, 1 << 20, 100, false);
    cr_assert_eq(r.n, N);
    cr_assert_eq(r.n_batches, N / 100);
    test_free(&r);
}

/* Lines of about 40 bytes whose text contains their number. */
static char *many_lines(size_t n, size_t *len)
{
    char *data = malloc(n * 64);
    *len = 0;
    for (size_t i = 1; i <= n; i++)
        *len += (size_t)sprintf(data + *len, "this is the text of line number %zu\n", i);
    return data;
}

static void assert_many_lines(const records *r, size_t n)
{
    char text[64];
    world_ok(r->status, &r->err);
    cr_assert_eq(r->n, n);
    for (size_t i = 0; i < n; i++) {
        snprintf(text, sizeof text, "this is the text of line number %zu", i + 1);
        cr_assert_str_eq(r->all[i].text.data, text);
        cr_assert_eq(r->all[i].line, i + 1);
    }
}

static size_t gz_pack(const char *data, size_t len, char *out, size_t cap)
{
    z_stream z = {0};
    cr_assert_eq(deflateInit2(&z, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)data;
    z.avail_in = (uInt)len;
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)cap;
    cr_assert_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return cap - z.avail_out;
}

/* Two members or frames of half the data each. */
static size_t pack_halves(bool gz, const char *data, size_t len, char *out, size_t cap)
{
    size_t n = 0, half = len / 2;
    for (int i = 0; i < 2; i++) {
        const char *from = data + (i == 0 ? 0 : half);
        size_t part = i == 0 ? half : len - half;
        n += gz ? gz_pack(from, part, out + n, cap - n)
                : ZSTD_compress(out + n, cap - n, from, part, 1);
    }
    return n;
}

Test(reader, compressed_files_of_several_members_read_like_the_plain_one_and_cut_short_they_fail)
{
    SCRATCH dir = scratch_open();
    size_t len, cap = 4 << 20;
    char *data = many_lines(60000, &len), *packed = malloc(cap);
    for (int gz = 0; gz < 2; gz++) {
        size_t n = pack_halves(gz, data, len, packed, cap);
        const char *path = scratch_put(&dir, gz ? "a.gz" : "a.zst", packed, n);
        const char *paths[] = {path};
        bm_input_options o = test_options(paths, 1, BM_FORMAT_LINES);
        for (size_t size = 1000; size < 4000000; size *= 20) {
            records r = test_read(&o, size, 0, false);
            assert_many_lines(&r, 60000);
            test_free(&r);
        }
        cr_assert_eq(truncate(path, (off_t)n - 5), 0);
        records r = test_read(&o, 100000, 0, false);
        cr_assert_eq(r.status, BM_ERR_INPUT);
        cr_assert_str_eq(r.err.file, path);
        test_free(&r);
    }
    free(packed);
    free(data);
}

Test(reader, an_archive_inside_gz_is_refused_like_a_plain_one)
{
    char tar[1024] = "name", packed[2000];
    memcpy(tar + 257, "ustar", 6);
    size_t n = gz_pack(tar, sizeof tar, packed, sizeof packed);
    SCRATCH dir = scratch_open();
    const char *path = scratch_put(&dir, "a.tar.gz", packed, n);
    const char *paths[] = {path};
    bm_input_options o = test_options(paths, 1, BM_FORMAT_AUTO);
    records r = test_read(&o, 100, 0, false);
    world_refused(r.status, BM_ERR_INPUT, &r.err, "tar");
    test_free(&r);
}

Test(reader, standard_input_is_read_from_a_pipe_in_pieces_of_any_size)
{
    const char text[] =
        "{\"text\":\"one\"}\n{\"text\":\"two\"}\n{bad\n{\"text\":\"four\",\"id\":\"x\"}";
    const char *paths[] = {"-"};
    char packed[1000];
    size_t n_packed = ZSTD_compress(packed, sizeof packed, text, sizeof text - 1, 1);
    for (size_t step = 1; step <= 100; step = step * 3 + 2)
        for (int zst = 0; zst < 2; zst++) {
            pid_t child = zst ? test_feed_stdin(packed, n_packed, step)
                              : test_feed_stdin(text, sizeof text - 1, step);
            bm_input_options o = test_options(paths, 1, BM_FORMAT_AUTO);
            records r = test_read(&o, 20, 0, false);
            world_ok(r.status, &r.err);
            cr_assert_eq(r.n, 4);
            assert_id(r.all[0], "-:1");
            assert_id(r.all[1], "-:2");
            assert_text(r.all[1], "two");
            assert_bad(r.all[2], "broken JSON at byte 2");
            assert_id(r.all[3], "x");
            test_free(&r);
            cr_assert_eq(waitpid(child, NULL, 0), child);
        }
}

Test(reader, standard_input_is_read_twice_through_a_spool_and_once_without)
{
    size_t len;
    SCRATCH dir = scratch_open();
    char *data = many_lines(5000, &len);
    const char *paths[] = {"-"};
    bm_input_options o = test_options(paths, 1, BM_FORMAT_LINES);
    for (int spool = 0; spool < 2; spool++) {
        pid_t child = test_feed_stdin(data, len, 1000);
        bm_input_set *set = world_open(bm_input_set, &o, spool ? dir.root : NULL, 0, NULL);
        cr_assert_eq(bm_input_set_total_bytes(set), 0);
        for (int pass = 0; pass < 3; pass++) {
            records r = {0};
            test_read_set(set, 10000, 0, false, &r);
            if (pass == 0 || spool)
                assert_many_lines(&r, 5000);
            else
                cr_assert_eq(r.status, BM_ERR_IO);
            test_free(&r);
        }
        cr_assert_eq(bm_input_set_source(set, 0)->bytes_read, len);
        bm_input_set_close(set);
        waitpid(child, NULL, 0);
    }
    cr_assert_eq(scratch_count(&dir, "."), 0);
    free(data);
}

Test(reader, a_spool_directory_that_cannot_be_used_is_named)
{
    pid_t child = test_feed_stdin("a\nb\n", 4, 4);
    const char *paths[] = {"-"};
    bm_input_options o = test_options(paths, 1, BM_FORMAT_LINES);
    bm_input_set *set = world_open(bm_input_set, &o, "/nonexistent/dir", 0, NULL);
    records r = {0};
    test_read_set(set, 100, 0, false, &r);
    cr_assert_eq(r.status, BM_ERR_IO);
    cr_assert_str_eq(r.err.file, "/nonexistent/dir");
    bm_input_set_close(set);
    waitpid(child, NULL, 0);
}

Test(reader, a_pipe_given_as_a_descriptor_is_read_once_and_a_named_one_is_no_document)
{
    SCRATCH dir = scratch_open();
    char path[1024];
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(write(ends[1], "a\nb\n", 4), 4);
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    const char *paths[] = {path};
    bm_input_options o = test_options(paths, 1, BM_FORMAT_LINES);
    records r = test_read(&o, 100, 0, false);
    cr_assert_eq(r.status, BM_OK);
    cr_assert_eq(r.n, 2);
    test_free(&r);
    snprintf(path, sizeof path, "%s/fifo", dir.root);
    cr_assert_eq(mkfifo(path, 0600), 0);
    bm_input_set *set;
    bm_error err = {0};
    world_refused(bm_input_set_open(&o, NULL, 0, NULL, &set, &err), BM_ERR_INPUT, &err, "FIFO");
    close(ends[0]);
}

Test(reader, digests_are_of_the_bytes_as_stored_and_a_changed_file_is_found)
{
    SCRATCH dir = scratch_open();
    char packed[1000];
    size_t n = ZSTD_compress(packed, sizeof packed, "a\nb\n", 4, 1);
    const char *a = scratch_put(&dir, "a.zst", packed, n),
               *b = scratch_put(&dir, "b", "one\ntwo\n", 8);
    const char *paths[] = {a, b};
    bm_input_options o = test_options(paths, 2, BM_FORMAT_LINES);
    bm_input_set *set = world_open(bm_input_set, &o, NULL, 0, NULL);
    records r = {0};
    test_read_set(set, 3, 0, false, &r);
    cr_assert_eq(r.status, BM_OK);
    test_free(&r);
    XXH128_hash_t x = XXH3_128bits(packed, n), y = XXH3_128bits("one\ntwo\n", 8);
    const bm_source *s = bm_input_set_source(set, 0), *t = bm_input_set_source(set, 1);
    cr_assert(s->digest.lo == x.low64 && s->digest.hi == x.high64);
    cr_assert(t->digest.lo == y.low64 && t->digest.hi == y.high64);
    cr_assert_eq(s->bytes_read, n);
    cr_assert_eq(t->bytes_read, 8);
    scratch_put(&dir, "b", "one\ntwO\n", 8);
    test_read_set(set, 3, 0, false, &r);
    cr_assert_eq(r.status, BM_ERR_INPUT);
    cr_assert_str_eq(r.err.file, b);
    cr_assert(strstr(r.err.message, "changed"));
    test_free(&r);
    bm_input_set_close(set);
}

Test(reader, a_file_that_vanishes_after_opening_is_named)
{
    SCRATCH dir = scratch_open();
    const char *a = scratch_put(&dir, "a", "x\n", 2);
    const char *paths[] = {a};
    bm_input_options o = test_options(paths, 1, BM_FORMAT_LINES);
    bm_input_set *set = world_open(bm_input_set, &o, NULL, 0, NULL);
    unlink(a);
    records r = {0};
    test_read_set(set, 100, 0, false, &r);
    cr_assert_eq(r.status, BM_ERR_IO);
    cr_assert_str_eq(r.err.file, a);
    bm_input_set_close(set);
}

Test(reader, a_record_over_the_limit_is_bad_is_not_held_and_what_follows_is_right)
{
    /* 64 MB in one line, in zstd: a batch must stay small, line numbers right */
    size_t len = 64 << 20, cap = ZSTD_compressBound(len);
    SCRATCH dir = scratch_open();
    char *data = malloc(len), *packed = malloc(cap);
    memset(data, 'x', len);
    memcpy(data, "one\n", 4);
    memcpy(data + len - 10, "\nlast\nend\n", 10);
    size_t n = ZSTD_compress(packed, cap, data, len, 1);
    const char *path = scratch_put(&dir, "a.zst", packed, n);
    const char *paths[] = {path};
    bm_input_options o = test_options(paths, 1, BM_FORMAT_LINES);
    o.max_doc_bytes = 100000;
    records r = test_read(&o, 50000, 0, false);
    cr_assert_eq(r.status, BM_OK);
    cr_assert_eq(r.n, 4);
    assert_text(r.all[0], "one");
    assert_bad(r.all[1], "longer than 100000 bytes");
    cr_assert_eq(r.all[1].raw.len, 256);
    cr_assert_eq(r.all[1].line, 2);
    assert_text(r.all[2], "last");
    cr_assert_eq(r.all[3].line, 4);
    cr_assert_lt(r.longest_batch, 300000);
    test_free(&r);
    free(packed);
    free(data);
}

Test(reader, the_limit_is_exact_with_every_line_ending)
{
    SCRATCH dir = scratch_open();
    const char *endings[] = {"\n", "\r\n", ""};
    for (size_t len = 9; len <= 12; len++)
        for (int e = 0; e < 3; e++)
            for (int bom = 0; bom < 2; bom++)
                for (size_t size = 1; size < 40; size += 6) {
                    char text[64];
                    int n = sprintf(text, "%s%.*s%s", bom ? "\xEF\xBB\xBF" : "", (int)len,
                                    "abcdefghijklmnop", endings[e]);
                    const char *path = scratch_put(&dir, "a", text, (size_t)n);
                    const char *paths[] = {path};
                    bm_input_options o = test_options(paths, 1, BM_FORMAT_LINES);
                    o.max_doc_bytes = 10;
                    records r = test_read(&o, size, 0, false);
                    cr_assert_eq(r.n, 1);
                    cr_assert_eq(r.all[0].bad, len > 10, "%zu %d %d %zu", len, e, bom, size);
                    test_free(&r);
                }
}

Test(reader, pieces_cover_every_file_once_and_say_where_it_begins_and_ends)
{
    SCRATCH dir = scratch_open();
    const char *a = scratch_put(&dir, "a", "1\n22\n333\n4444\n", 14),
               *b = scratch_put(&dir, "b", "", 0);
    const char *paths[] = {a, b, a};
    bm_input_options o = test_options(paths, 3, BM_FORMAT_LINES);
    for (size_t size = 1; size < 40; size++) {
        bm_batch_source *reader;
        bm_input_set *set = world_open(bm_input_set, &o, NULL, 0, NULL);
        cr_assert_eq(world_reader_open(set, size, 0, &reader, NULL), BM_OK);
        char seen[3][20] = {{0}};
        bool open[3] = {0}, done[3] = {0};
        bm_raw_batch *batch;
        for (;;) {
            cr_assert_eq(world_reader_next(reader, &batch, NULL), BM_OK);
            if (batch == NULL)
                break;
            for (size_t i = 0; i < batch->n_pieces; i++) {
                const bm_raw_piece *p = &batch->pieces[i];
                cr_assert_eq(p->file_begin, !open[p->file]);
                cr_assert(!done[p->file]);
                open[p->file] = true;
                done[p->file] = p->file_end;
                strncat(seen[p->file], batch->data + p->begin, p->end - p->begin);
            }
            bm_raw_batch_free(batch);
        }
        for (int f = 0; f < 3; f++) {
            cr_assert(done[f]);
            cr_assert_str_eq(seen[f], f == 1 ? "" : "1\n22\n333\n4444\n");
        }
        world_reader_close(reader);
        bm_input_set_close(set);
    }
}

Test(reader, ten_million_empty_lines_are_nothing_in_jsonl)
{
    size_t len = 10000000;
    char *data = malloc(len);
    memset(data, '\n', len);
    memcpy(data + len - 14, "{\"text\":null}\n", 14);
    records r = test_read_bytes(BM_FORMAT_JSONL, data, len, NULL);
    cr_assert_eq(r.n, 1);
    cr_assert_eq(r.all[0].line, len - 13);
    test_free(&r);
    free(data);
}

/* If the comma and another byte change places, in a table and in its syntax, the records are the
 * same except for these bytes. */
Test(reader, another_delimiter_only_changes_places_with_the_comma)
{
    SCRATCH dir = scratch_open();
    uint64_t x = 3;
    static const char bytes[] = "\"\"\",,,\n\n\r ab;;", delimiters[] = ";|\t :\x01";
    for (int round = 0; round < 200; round++) {
        const char other = delimiters[round % (int)(sizeof delimiters - 1)];
        char text[200], swapped[200];
        size_t len = 20 + (size_t)round % 150;
        for (size_t i = 0; i < len; i++) {
            text[i] = bytes[world_below(&x, sizeof bytes - 1)];
            if (text[i] == ';')
                text[i] = other;
            swapped[i] = text[i] == ',' ? other : text[i] == other ? ',' : text[i];
        }
        const char *a = scratch_put(&dir, "a.csv", text, len);
        const char *paths[] = {a}, *two[] = {"2"};
        bm_input_options o = test_options(paths, 1, BM_FORMAT_CSV);
        o.text_fields = two;
        o.n_text_fields = 1;
        records commas = test_read(&o, 1 << 16, 0, false);
        scratch_put(&dir, "a.csv", swapped, len);
        o.delimiter = other;
        for (size_t size = 1; size <= len + 1; size += 1 + size / 4) {
            records r = test_read(&o, size, 0, false);
            cr_assert_eq(r.n, commas.n);
            for (size_t i = 0; i < r.n; i++) {
                const record *p = &commas.all[i], *q = &r.all[i];
                cr_assert(p->line == q->line && p->bad == q->bad && p->raw.len == q->raw.len &&
                          p->text.len == q->text.len);
                for (size_t j = 0; j < p->text.len; j++) {
                    char c = p->text.data[j];
                    cr_assert_eq(q->text.data[j], c == ',' ? other : c == other ? ',' : c);
                }
            }
            test_free(&r);
        }
        test_free(&commas);
    }
}
