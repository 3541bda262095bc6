/* Plain files that several threads read by position: the records of a naive model, whatever the
 * lengths of records and batches are, and the same digests and places; files that change while they
 * are read. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "read_lanes.h"
#include "tests/unit/base/sized.h"

/* Lines of a text as `--format lines` has them: numbers from 1 on, without their endings. */
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

static uint32_t random_below(uint32_t *x, uint32_t n)
{
    *x = *x * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(*x >> 4) * n >> 28);
}

/* A text of `len` bytes: lines of up to `longest`, some that end with CR LF, and the last one
 * perhaps without an end. */
static char *make_text(size_t len, uint32_t longest, uint32_t seed)
{
    char *text = malloc(len + 1);
    uint32_t left = random_below(&seed, longest);
    for (size_t i = 0; i < len; i++) {
        text[i] = (char)('a' + random_below(&seed, 26));
        if (left-- > 0)
            continue;
        text[i] = '\n';
        if (i > 0 && text[i - 1] != '\n' && random_below(&seed, 3) == 0)
            text[i - 1] = '\r';
        left = random_below(&seed, longest);
    }
    return text;
}

static records read_text(const char *path, size_t n, size_t batch, uint32_t limit, size_t lanes,
                         bm_input_set **set)
{
    const char *paths[] = {path, path, path};
    const bm_input_options o = test_options(paths, n, BM_FORMAT_LINES);
    cr_assert_eq(bm_input_set_open(&o, NULL, set, NULL), BM_OK);
    return test_read_set_by(*set, batch, limit, false, lanes);
}

/* One line of each length around the ends of batches, and what is left behind it. */
Test(reader_ranges, a_line_may_end_anywhere_around_the_end_of_a_batch)
{
    char *dir = test_dir();
    for (size_t batch = 16; batch <= 64; batch += 24)
        for (size_t first = 1; first < 3 * batch; first++)
            for (size_t rest = 0; rest < 2 * batch; rest += 5) {
                char text[512];
                const size_t len = first + rest;
                memset(text, 'x', len);
                text[first - 1] = '\n';
                for (size_t i = first + 7; i < len; i += 8)
                    text[i] = '\n';
                char *path = test_file(dir, "a", text, len);
                bm_input_set *set;
                records r = read_text(path, 1, batch, 0, 1, &set);
                assert_lines(&r, text, len, batch * 1000000 + first * 1000 + rest);
                assert_digest(set, 0, text, len);
                bm_input_set_close(set);
                test_free(&r);
                free(path);
            }
    test_dir_remove(dir);
}

Test(reader_ranges, any_lines_come_in_their_order_from_any_number_of_threads)
{
    char *dir = test_dir();
    for (uint32_t seed = 0; seed < sized(60, 200); seed++) {
        uint32_t x = seed;
        const size_t len = random_below(&x, 60000), batch = 1 + random_below(&x, 3000);
        const uint32_t limit = seed % 3 == 0 ? 1 + random_below(&x, 200) : 0;
        char *text = make_text(len, 1 + random_below(&x, seed % 4 == 0 ? 9000 : 100), x);
        char *path = test_file(dir, "a", text, len);
        bm_input_set *set;
        records r = read_text(path, 1, batch, limit, 1 + seed % TEST_LANES_MAX, &set);
        assert_lines(&r, text, len, seed);
        assert_digest(set, 0, text, len);
        bm_input_set_close(set);
        test_free(&r);
        free(path);
        free(text);
    }
    test_dir_remove(dir);
}

/* Small ones share batches, larger ones are cut, and each begins with line 1. */
Test(reader_ranges, files_of_all_sizes_follow_each_other)
{
    enum { N = 40 };
    char *dir = test_dir(), *texts[N], *paths[N];
    size_t lens[N];
    for (uint32_t i = 0; i < N; i++) {
        char name[20];
        snprintf(name, sizeof name, "%u", i);
        lens[i] = i % 5 == 0 ? 0 : (size_t)i * i * (i % 7);
        texts[i] = make_text(lens[i], 60, i);
        paths[i] = test_file(dir, name, texts[i], lens[i]);
    }
    const bm_input_options o = test_options((const char *const *)paths, N, BM_FORMAT_LINES);
    for (size_t lanes = 1; lanes <= 4; lanes++)
        for (size_t batch = 100; batch < 5000; batch *= 3) {
            bm_input_set *set;
            cr_assert_eq(bm_input_set_open(&o, NULL, &set, NULL), BM_OK);
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
    for (uint32_t i = 0; i < N; i++) {
        free(texts[i]);
        free(paths[i]);
    }
    test_dir_remove(dir);
}

/* A file of 20,000 bytes is changed when so many batches of 1,000 were handed out, none of which
 * was read. */
static void change_behind(size_t n_given, size_t new_len, const char *was, const char *is)
{
    enum { LEN = 20000, BATCH = 1000, GIVEN_MAX = 30 };
    char *dir = test_dir(), *path = test_file(dir, "a", was, LEN);
    const char *paths[] = {path};
    const bm_input_options o = test_options(paths, 1, BM_FORMAT_LINES);
    bm_input_set *set = NULL;
    bm_parser *parser = NULL;
    test_lanes l;
    bm_raw_batch *given[GIVEN_MAX], *batch;
    cr_assert_eq(bm_input_set_open(&o, NULL, &set, NULL), BM_OK);
    cr_assert_eq(bm_parser_open(set, &parser, NULL), BM_OK);
    cr_assert_eq(test_open_lanes(set, BATCH, 0, &l), BM_OK);
    for (size_t i = 0; i < n_given; i++)
        cr_assert((given[i] = test_next(&l)) != NULL);
    free(test_file(dir, "a", is, new_len));
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
    free(path);
    test_dir_remove(dir);
}

/* As with a reader alone, what counts is what is there when it is read. */
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

/* Ranges are cut where newlines were: lines that are there now are found all the same. */
Test(reader_ranges, more_lines_than_a_batch_may_have_are_read_in_order)
{
    char *dir = test_dir(), *text = make_text(200000, 100, 5);
    memset(text + 60000, '\n', 90000); /* no one would have foreseen it */
    char *path = test_file(dir, "a", text, 200000);
    for (size_t lanes = 1; lanes <= 4; lanes += 3)
        for (uint32_t limit = 20; limit < 3000; limit *= 5) {
            bm_input_set *set;
            records r = read_text(path, 1, 4000, limit, lanes, &set);
            assert_lines(&r, text, 200000, limit);
            bm_input_set_close(set);
            test_free(&r);
        }
    free(path);
    free(text);
    test_dir_remove(dir);
}

/* Read with two threads, or one, up to the end: places behind batches, which are those that an
 * interrupted job would seal. */
Test(reader_ranges, places_are_those_of_the_bytes_before_them)
{
    enum { LEN = 30000 };
    char *dir = test_dir(), *text = make_text(LEN, 40, 9), *path = test_file(dir, "a", text, LEN);
    const char *paths[] = {path};
    const bm_input_options o = test_options(paths, 1, BM_FORMAT_LINES);
    bm_input_set *set = NULL;
    test_lanes l;
    bm_raw_batch *batch;
    uint64_t before = 0;
    cr_assert_eq(bm_input_set_open(&o, NULL, &set, NULL), BM_OK);
    cr_assert_eq(test_open_lanes(set, 1000, 0, &l), BM_OK);
    cr_assert_eq(bm_reader_track(l.reader, NULL, NULL), BM_OK);
    while ((batch = test_next(&l)) != NULL) {
        double in_turn = 0;
        cr_assert_eq(bm_reader_fill(l.reader, batch, &in_turn, NULL), BM_OK);
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
    free(path);
    free(text);
    test_dir_remove(dir);
}
