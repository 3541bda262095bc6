/* SPDX-License-Identifier: Apache-2.0 */
/* Plain files that several threads read by position: the records, digests and places are those of a
 * naive model for any lengths of records and batches. Also: files that change while they are
 * read. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "read_lanes.h"
#include "tests/world/sized.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_random.h"

/* The records must be the lines of the text, as `--format lines` reads them: numbered from 1,
 * without line ends. */
static void assert_lines(const records *r, const char *text, size_t len, size_t what)
{
    size_t n = 0;
    cr_assert_eq(r->status, BM_OK, "%zu: %s", what, r->err.message);
    for (size_t at = 0; at < len; n++) {
        const char *end = memchr(text + at, '\n', len - at);
        const size_t next = end != NULL ? (size_t)(end - text) + 1 : len;
        cr_assert_lt(n, r->n, "%zu: line %zu is lost", what, n + 1);
        cr_assert_eq(r->all[n].line, n + 1, "%zu", what);
        cr_assert_eq(r->all[n].raw.len, next - at, "%zu: line %zu", what, n + 1);
        cr_assert_arr_eq(r->all[n].raw.data, text + at, next - at);
        at = next;
    }
    cr_assert_eq(r->n, n, "%zu: %zu lines for %zu", what, r->n, n);
}

static void assert_digest(const bm_input_set *set, size_t file, const char *text, size_t len)
{
    const bm_source *source = bm_input_set_source(set, file);
    const XXH128_hash_t sum = XXH3_128bits(text, len);
    cr_assert(source->digest.lo == sum.low64 && source->digest.hi == sum.high64);
    cr_assert_eq(source->bytes_read, len);
}

/* A text of `len` bytes, with lines of up to `longest`. Some lines end with CR LF; the last may
 * have no line end. */
static char *make_text(size_t len, uint32_t longest, uint64_t seed)
{
    char *text = malloc(len + 1);
    uint32_t left = world_below(&seed, longest);
    for (size_t i = 0; i < len; i++) {
        text[i] = (char)('a' + world_below(&seed, 26));
        if (left-- > 0)
            continue;
        text[i] = '\n';
        if (i > 0 && text[i - 1] != '\n' && world_below(&seed, 3) == 0)
            text[i - 1] = '\r';
        left = world_below(&seed, longest);
    }
    return text;
}

static records read_text(const char *path, size_t n, size_t batch, uint32_t limit, size_t lanes,
                         bm_input_set **set)
{
    const char *paths[] = {path, path, path};
    const bm_input_options o = test_options(paths, n, BM_FORMAT_LINES);
    cr_assert_eq(bm_input_set_open(&o, NULL, 0, NULL, set, NULL), BM_OK);
    return test_read_set_by(*set, batch, limit, false, lanes);
}

/* First lines of every length, so that one ends at each position around the end of a batch. */
Test(reader_ranges, a_line_may_end_anywhere_around_the_end_of_a_batch)
{
    SCRATCH dir = scratch_open();
    for (size_t batch = 16; batch <= 64; batch += 24)
        for (size_t first = 1; first < 3 * batch; first++)
            for (size_t rest = 0; rest < 2 * batch; rest += 5) {
                char text[512];
                const size_t len = first + rest;
                memset(text, 'x', len);
                text[first - 1] = '\n';
                for (size_t i = first + 7; i < len; i += 8)
                    text[i] = '\n';
                const char *path = scratch_put(&dir, "a", text, len);
                bm_input_set *set;
                records r = read_text(path, 1, batch, 0, 1, &set);
                assert_lines(&r, text, len, batch * 1000000 + first * 1000 + rest);
                assert_digest(set, 0, text, len);
                bm_input_set_close(set);
                test_free(&r);
            }
}

Test(reader_ranges, any_lines_come_in_their_order_from_any_number_of_threads)
{
    SCRATCH dir = scratch_open();
    for (uint32_t seed = 0; seed < sized(60, 200); seed++) {
        uint64_t x = seed;
        const size_t len = world_below(&x, 60000), batch = 1 + world_below(&x, 3000);
        const uint32_t limit = seed % 3 == 0 ? 1 + world_below(&x, 200) : 0;
        char *text = make_text(len, 1 + world_below(&x, seed % 4 == 0 ? 9000 : 100), x);
        const char *path = scratch_put(&dir, "a", text, len);
        bm_input_set *set;
        records r = read_text(path, 1, batch, limit, 1 + seed % TEST_LANES_MAX, &set);
        assert_lines(&r, text, len, seed);
        assert_digest(set, 0, text, len);
        bm_input_set_close(set);
        test_free(&r);
        free(text);
    }
}

/* Small files share a batch, large ones are cut into several, and each file begins with line 1. */
Test(reader_ranges, files_of_all_sizes_follow_each_other)
{
    enum { N = 40 };
    SCRATCH dir = scratch_open();
    const char *paths[N];
    char *texts[N];
    size_t lens[N];
    for (uint32_t i = 0; i < N; i++) {
        char name[20];
        snprintf(name, sizeof name, "%u", i);
        lens[i] = i % 5 == 0 ? 0 : (size_t)i * i * (i % 7);
        texts[i] = make_text(lens[i], 60, i);
        paths[i] = scratch_put(&dir, name, texts[i], lens[i]);
    }
    const bm_input_options o = test_options(paths, N, BM_FORMAT_LINES);
    for (size_t lanes = 1; lanes <= 4; lanes++)
        for (size_t batch = 100; batch < 5000; batch *= 3) {
            bm_input_set *set = world_open(bm_input_set, &o, NULL, 0, NULL);
            records all = test_read_set_by(set, batch, 0, false, lanes);
            cr_assert_eq(all.status, BM_OK, "%s", all.err.message);
            records of = {.all = all.all};
            for (uint32_t i = 0; i < N; i++, of.all += of.n) {
                for (of.n = 0; of.all + of.n < all.all + all.n && of.all[of.n].file == i;)
                    of.n++;
                assert_lines(&of, texts[i], lens[i], i);
                assert_digest(set, i, texts[i], lens[i]);
            }
            test_free(&all);
            bm_input_set_close(set);
        }
    for (uint32_t i = 0; i < N; i++)
        free(texts[i]);
}

/* Files that share batches or have their own, and of which one may change after the set was opened.
 * Compared with one thread that reads in order. */
Test(reader_ranges, whole_files_are_read_as_they_are)
{
    enum { N = 60 };
    SCRATCH dir = scratch_open();
    const char *paths[N];
    char *text = make_text(4000, 60, 2);
    for (uint32_t seed = 0; seed < sized(60, 300); seed++) {
        uint64_t x = seed;
        const uint32_t longest = 1 + world_below(&x, 3000), batch = 1 + world_below(&x, 9000),
                       limit = seed % 4 == 0 ? 1 + world_below(&x, 40) : 0;
        for (uint32_t i = 0; i < N; i++) {
            char name[20];
            snprintf(name, sizeof name, "%u", i);
            paths[i] = scratch_put(&dir, name, text + i, world_below(&x, longest));
        }
        bm_input_options o =
            test_options(paths, N, seed % 3 == 0 ? BM_FORMAT_LINES : BM_FORMAT_FILES);
        bm_input_set *set = world_open(bm_input_set, &o, NULL, 0, NULL);
        const uint32_t changed = world_below(&x, N);
        if (seed % 2 == 1)
            scratch_put(&dir, strrchr(paths[changed], '/') + 1, text, world_below(&x, longest));
        records one = test_read(&o, batch, limit, false),
                r = test_read_set_by(set, batch, limit, false, 1 + seed % TEST_LANES_MAX);
        test_assert_same(&one, &r, "files", seed);
        cr_assert(limit != 0 || longest > batch / 4 || r.n_ranges > 0, "%u", seed);
        bm_input_set *again = world_open(bm_input_set, &o, NULL, 0, NULL);
        test_free(&one);
        test_read_set(again, batch, 0, false, &one);
        for (size_t i = 0; i < N; i++) {
            const bm_source *a = bm_input_set_source(set, i), *b = bm_input_set_source(again, i);
            cr_assert(a->digest.lo == b->digest.lo && a->digest.hi == b->digest.hi);
            cr_assert_eq(a->bytes_read, b->bytes_read);
        }
        bm_input_set_close(again);
        test_free(&one);
        test_free(&r);
        /* On the second reading, a changed file is an error. */
        scratch_put(&dir, "0", "0123", 4);
        r = test_read_set_by(set, batch, limit, false, 3);
        cr_assert_eq(r.status, BM_ERR_INPUT);
        cr_assert(strstr(r.err.message, "the file changed") != NULL, "%s", r.err.message);
        bm_input_set_close(set);
        test_free(&r);
    }
    free(text);
}

/* A file of 20,000 bytes changes after `n_given` batches of 1,000 were handed out, before any of
 * them was read. */
static void change_behind(size_t n_given, size_t new_len, const char *was, const char *is)
{
    enum { LEN = 20000, BATCH = 1000, GIVEN_MAX = 30 };
    SCRATCH dir = scratch_open();
    const char *path = scratch_put(&dir, "a", was, LEN);
    const char *paths[] = {path};
    const bm_input_options o = test_options(paths, 1, BM_FORMAT_LINES);
    test_lanes l;
    bm_raw_batch *given[GIVEN_MAX], *batch;
    bm_input_set *set = world_open(bm_input_set, &o, NULL, 0, NULL);
    bm_parser *parser = world_open(bm_parser, set);
    cr_assert_eq(test_open_lanes(set, BATCH, 0, NULL, &l), BM_OK);
    for (size_t i = 0; i < n_given; i++)
        cr_assert((given[i] = test_next(&l)) != NULL);
    scratch_put(&dir, "a", is, new_len);
    for (size_t i = 0; i < n_given; i++)
        test_take(&l, parser, given[i]);
    while ((batch = test_next(&l)) != NULL)
        test_take(&l, parser, batch);
    bm_parser_close(parser);
    records r = test_end_lanes(&l);
    assert_lines(&r, is, new_len, n_given * 100000 + new_len);
    assert_digest(set, 0, is, new_len);
    bm_input_set_close(set);
    test_free(&r);
}

/* As with a single reader, the content at the time of reading counts. */
Test(reader_ranges, a_file_that_is_cut_off_or_goes_on_is_read_as_it_is_then)
{
    char *was = make_text(20000, 50, 3), *is = make_text(40000, 50, 3);
    cr_assert_eq(memcmp(was, is, 20000), 0);
    for (size_t n_given = 0; n_given <= 15; n_given += 3)
        for (size_t new_len = 0; new_len <= 40000; new_len += 1237)
            change_behind(n_given, new_len, was, is);
    free(was);
    free(is);
}

/* Ranges are planned by the lines seen so far; far shorter lines must be read in order too. */
Test(reader_ranges, more_lines_than_a_batch_may_have_are_read_in_order)
{
    SCRATCH dir = scratch_open();
    char *text = make_text(200000, 100, 5);
    memset(text + 60000, '\n', 90000); /* far more lines than before */
    const char *path = scratch_put(&dir, "a", text, 200000);
    for (size_t lanes = 1; lanes <= 4; lanes += 3)
        for (uint32_t limit = 20; limit < 3000; limit *= 5) {
            bm_input_set *set;
            records r = read_text(path, 1, 4000, limit, lanes, &set);
            assert_lines(&r, text, 200000, limit);
            bm_input_set_close(set);
            test_free(&r);
        }
    free(text);
}

/* A file of records whose bounds are not newlines alone. */
typedef struct bounded {
    bm_format format;
    const char *name, *begin, *between, *end;
    /* The format of a record (number, words), and words with bytes that separate records. */
    const char *record, *word, *odd;
} bounded;

static char *make_bounded(const bounded *b, uint32_t n_records, uint32_t longest, uint32_t n_odd,
                          uint64_t seed, size_t *len)
{
    char *text = malloc(1024 + (size_t)n_records * 700), word[512];
    size_t at = (size_t)sprintf(text, "%s", b->begin);
    for (uint32_t i = 0; i < n_records; i++) {
        const char *of = n_odd > 0 && world_below(&seed, n_odd) == 0 ? b->odd : b->word;
        size_t n = 0;
        word[0] = '\0';
        for (uint32_t left = world_below(&seed, longest) + 1; left > 0 && n < 400; left--)
            n += (size_t)sprintf(word + n, "%s%c", of, 'a' + (int)world_below(&seed, 26));
        at += (size_t)sprintf(text + at, "%s", i > 0 ? b->between : "");
        at += b->format == BM_FORMAT_WET ? (size_t)sprintf(text + at, b->record, i, n, word)
                                         : (size_t)sprintf(text + at, b->record, i, word);
    }
    *len = at + (size_t)sprintf(text + at, "%s", b->end);
    return text;
}

static const bounded kinds[] = {
    {BM_FORMAT_CSV, "a.csv", "id,text\n", "", "", "%u,\"%s\"\n", "x, y\n", "\"\"\n,\"\""},
    {BM_FORMAT_CSV, "b.csv", "id,text\n", "", "", "%u,%s\r\n", "plain ", "a \"b\" c"},
    {BM_FORMAT_CSV, "c.csv", "id,text\n", "", "", "%u,\"\n,%s,\n\"\n", "1,2\n3,4\n", "\n"},
    {BM_FORMAT_JSON, "a.json", "[", ",\n ", "]\n", "{\"id\":%u, \"text\":\"%s\"}",
     "} , {\\\"id\\\": ", "\\\\"},
    {BM_FORMAT_JSON, "b.json", " [\n", " , ", "\n]",
     "{ \"id\": %u, \"text\": [\"%s\", {\"a\":[]}] }", "]", "\\\","},
    {BM_FORMAT_JSON, "c.json", "[", ",", "]",
     "{\"id\":%u,\"of\":[{\"id\":1},{\"id\":2}],\"text\":\"%s\"}", "x ", "y "},
    {BM_FORMAT_WET, "a.warc.wet", "", "", "",
     "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Record-ID: <%u>\r\nContent-Length: "
     "%zu\r\n\r\n%s\r\n\r\n",
     "text\n", "\nWARC/1.0\r\n"},
};

/* Compared with one thread that reads in order. */
Test(reader_ranges, records_with_bounds_of_their_own_are_read_by_position_too)
{
    SCRATCH dir = scratch_open();
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        size_t n_ranges = 0;
        for (uint32_t seed = 0; seed < sized(24, 120); seed++) {
            uint64_t x = seed;
            size_t len;
            char *text = make_bounded(&kinds[k], 1 + world_below(&x, 800), 1 + seed % 20,
                                      seed % 3 == 0 ? 0 : 1 + world_below(&x, 200), x, &len);
            if (seed % 7 == 3) /* broken at a random place */
                text[world_below(&x, (uint32_t)len)] = seed % 2 == 0 ? '"' : '}';
            const char *path = scratch_put(&dir, kinds[k].name, text, len);
            const char *paths[] = {path, path};
            bm_input_options o = test_options(paths, 1 + seed % 2, kinds[k].format);
            o.on_error = seed % 5 == 0 ? BM_ON_ERROR_SKIP : o.on_error;
            const size_t batch = 200 + world_below(&x, 12000);
            const uint32_t limit = seed % 4 == 1 ? 1 + world_below(&x, 100) : 0;
            records one = test_read(&o, batch, limit, seed % 2 == 0);
            records r = test_read_by(&o, batch, limit, seed % 2 == 0, 1 + seed % TEST_LANES_MAX);
            test_assert_same(&one, &r, kinds[k].name, seed);
            n_ranges += r.n_ranges;
            test_free(&one);
            test_free(&r);
            free(text);
        }
        cr_assert_gt(n_ranges, sized(24, 120), "%s", kinds[k].name);
    }
}

/* The place after each batch, which an interrupted job would seal, has the size and the digest of
 * the bytes before it. */
Test(reader_ranges, places_are_those_of_the_bytes_before_them)
{
    enum { LEN = 30000 };
    SCRATCH dir = scratch_open();
    char *text = make_text(LEN, 40, 9);
    const char *path = scratch_put(&dir, "a", text, LEN);
    const char *paths[] = {path};
    const bm_input_options o = test_options(paths, 1, BM_FORMAT_LINES);
    test_lanes l;
    bm_raw_batch *batch;
    uint64_t before = 0;
    bm_input_set *set = world_open(bm_input_set, &o, NULL, 0, NULL);
    cr_assert_eq(test_open_lanes(set, 1000, 0, &(bm_content_place){0}, &l), BM_OK);
    while ((batch = test_next(&l)) != NULL) {
        double in_turn = 0;
        cr_assert_eq(world_reader_fill(l.reader, batch, &in_turn, NULL), BM_OK);
        const bm_content_place *place = &batch->place;
        const XXH128_hash_t sum = XXH3_128bits(text, (size_t)place->bytes);
        cr_assert(place->known && place->file == 0);
        cr_assert_eq(place->bytes, before + batch->len);
        cr_assert(place->digest.lo == sum.low64 && place->digest.hi == sum.high64);
        cr_assert_geq(batch->bytes_read, place->bytes);
        before = place->bytes;
        bm_raw_batch_free(batch);
    }
    cr_assert_eq(before, LEN);
    records r = test_end_lanes(&l);
    test_free(&r);
    bm_input_set_close(set);
    free(text);
}
