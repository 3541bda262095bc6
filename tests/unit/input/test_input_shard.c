/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of a file, for every number of shares: together, in order, they have the records of the
 * whole file. */
#include "read_records.h"

#include "input/input_shard.h"
#include "tests/world/world_calls.h"

typedef struct kind {
    const char *name, *bytes;
    bm_format format;
    const char *field; /* the text field; NULL: the format's default */
    uint64_t longest;  /* most bytes of a document; 0: no limit */
} kind;

static bm_input_options options_of(const kind *k, const char *const *paths, size_t n)
{
    bm_input_options o = test_options(paths, n, k->format);
    o.text_fields = &k->field;
    o.n_text_fields = k->field != NULL;
    if (k->longest > 0)
        o.max_doc_bytes = k->longest;
    return o;
}

static void expect_same(const record *is, const record *was, const char *name, unsigned of)
{
    cr_assert_eq(is->line, was->line, "%s, %u shares: line %lu", name, of, (unsigned long)is->line);
    cr_assert_eq(is->bad, was->bad, "%s, %u shares", name, of);
    cr_assert_str_eq(is->reason, was->reason, "%s, %u shares", name, of);
    cr_assert_str_eq(is->id.data, was->id.data, "%s, %u shares", name, of);
    cr_assert_str_eq(is->text.data, was->text.data, "%s, %u shares", name, of);
}

/* Each share has whole records, begins where the share before it ends, and reports how many records
 * precede it. */
static void expect_shares(const kind *k, const bm_input_options *o, const records *whole,
                          unsigned of)
{
    size_t n = 0;
    uint64_t at = 0;
    for (unsigned i = 1; i <= of; i++) {
        records CLEANED share = {0};
        bm_input_set *set = world_open(bm_input_set, o, NULL, 0, NULL);
        cr_assert_eq(bm_input_set_shard(set, i, of, NULL), BM_OK);
        if (bm_input_set_count(set) == 1) {
            const bm_source_cut *cut = &bm_input_set_source(set, 0)->cut;
            const uint64_t end =
                cut->to != 0 ? cut->to : (uint64_t)bm_input_set_source(set, 0)->size;
            cr_assert_eq(cut->from, at, "%s %u/%u begins at %lu", k->name, i, of,
                         (unsigned long)cut->from);
            cr_assert_eq(cut->records, n, "%s %u/%u: %lu records before it, not %zu", k->name, i,
                         of, (unsigned long)cut->records, n);
            cr_assert_eq(bm_input_set_total_bytes(set), end - at);
            at = end;
        }
        test_read_set(set, i % 2 ? 1 << 20 : 7, 0, false, &share);
        cr_assert_eq(share.status, BM_OK, "%s %u/%u: %s", k->name, i, of, share.err.message);
        cr_assert_leq(n + share.n, whole->n);
        for (size_t j = 0; j < share.n; j++)
            expect_same(&share.all[j], &whole->all[n + j], k->name, of);
        n += share.n;
        bm_input_set_close(set);
    }
    cr_assert_eq(n, whole->n, "%s: %zu of %zu records in %u shares", k->name, n, whole->n, of);
    cr_assert_eq(at, strlen(k->bytes));
}

static const kind kinds[] = {
    {"jsonl",
     "{\"text\":\"one\"}\n\n \t\r\n{\"text\":2}\n{\"text\":\"three\",\"id\":\"t\"}\n{broken\n\r\n"
     "{\"text\":\"last\"}\n",
     BM_FORMAT_JSONL, NULL, 0},
    {"a mark, CR LF, no newline at the end",
     "\xEF\xBB\xBF{\"text\":\"one\"}\r\n\r\n{\"text\":\"two\"}\r\n{\"text\":\"three\"}",
     BM_FORMAT_JSONL, NULL, 0},
    {"a mark and a blank line", "\xEF\xBB\xBF\n{\"text\":\"one\"}\n", BM_FORMAT_JSONL, NULL, 0},
    {"a mark alone", "\xEF\xBB\xBF", BM_FORMAT_LINES, NULL, 0},
    {"blank lines that are too long",
     "{\"text\":\"a\"}\n                    \n \n{\"text\":\"b\"}\n", BM_FORMAT_JSONL, NULL, 15},
    {"lines", "one\n\n\ntwo\r\n\xEF\xBB\xBFthree\n", BM_FORMAT_LINES, NULL, 0},
    {"lines without end", "one\ntwo\n\nthree", BM_FORMAT_LINES, NULL, 0},
    {"tsv with a header", "\xEF\xBB\xBFid\ttext\na\tone\nb\ttwo\n\nc\tthree\td\n", BM_FORMAT_TSV,
     "text", 0},
    {"tsv without", "a\tone\nb\ttwo\nc\tthree", BM_FORMAT_TSV, "2", 0},
    {"csv with newlines in quotes",
     "\xEF\xBB\xBF\"te\nxt\",id\n\"one\n1\",a\ntwo,b\n\"three\"\"\n\n3\",c\n\"four,4\",d",
     BM_FORMAT_CSV, "te\nxt", 0},
    {"a header alone", "text\n", BM_FORMAT_CSV, "text", 0},
    {"records that are too long",
     "a\nbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\nc\ndddddddd\n", BM_FORMAT_LINES, NULL,
     4}};

Test(input_shard, shares_of_any_number_have_the_records_of_the_file_in_their_order)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const kind *k = &kinds[i];
        const size_t len = strlen(k->bytes);
        SCRATCH dir = scratch_open();
        const char *path = scratch_put(&dir, "in", k->bytes, len);
        const char *const paths[] = {path};
        const bm_input_options o = options_of(k, paths, 1);
        records CLEANED whole = test_read(&o, 1 << 20, 0, false);
        cr_assert_eq(whole.status, BM_OK, "%s: %s", k->name, whole.err.message);
        for (unsigned of = 1; of <= len + 2; of++)
            expect_shares(k, &o, &whole, of);
    }
}

Test(input_shard, a_file_that_is_not_cut_is_in_the_share_of_its_middle)
{
    SCRATCH dir = scratch_open();
    static const char *const files[][2] = {{"a.txt", "aaaaaaaaa"},
                                           {"b.txt", "bbbb"},
                                           {"c.txt", ""},
                                           {"d.txt", "ddddddd"},
                                           {"e.txt", ""}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        scratch_put_text(&dir, files[i][0], files[i][1]);
    const char *const paths[] = {dir.root};
    /* the files have 20 bytes in all, and their middles are at 4, 11, 13, 16 and 20 */
    static const struct {
        unsigned i, of;
        const char *has;
    } cases[] = {{1, 1, "abcde"}, {1, 2, "a"}, {2, 2, "bcde"}, {1, 3, "a"},   {2, 3, "b"},
                 {3, 3, "cde"},   {1, 20, ""}, {5, 20, "a"},   {17, 20, "d"}, {20, 20, "e"}};
    const bm_input_options o = test_options(paths, 1, BM_FORMAT_AUTO);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char has[8] = "";
        bm_input_set *set = world_open(bm_input_set, &o, NULL, 0, NULL);
        cr_assert_eq(bm_input_set_shard(set, cases[i].i, cases[i].of, NULL), BM_OK);
        for (size_t j = 0; j < bm_input_set_count(set); j++)
            has[j] = bm_input_set_source(set, j)->name[strlen(dir.root) + 1];
        cr_expect_str_eq(has, cases[i].has, "%u/%u has %s", cases[i].i, cases[i].of, has);
        bm_input_set_close(set);
    }
}
