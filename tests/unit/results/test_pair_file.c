/* SPDX-License-Identifier: Apache-2.0 */
/* test_pair_file.c -- pairs.tsv written by hand after docs/formats.md and docs/cli.md (`cluster`):
 * rows are read with their meaning, bad rows are reported with their line. */
#include "results/pair_file.c"

#include <criterion/criterion.h>

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json/json_write.h"
#include "tests/world/scratch.h"

#define HEADER "id_a\tid_b\tjaccard"

typedef struct fixture {
    scratch s;
    const char *path;
    bm_pair_file file;
    bm_error err;
} fixture;

static bm_status open_text(fixture *f, const char *text)
{
    memset(f, 0, sizeof *f);
    f->s = scratch_open();
    scratch_put_text(&f->s, "pairs.tsv", text);
    f->path = scratch_at(&f->s, "pairs.tsv");
    return bm_pair_file_open(f->path, BM_ERR_INPUT, NULL, &f->file, &f->err);
}

static void close_all(fixture *f)
{
    bm_pair_file_close(&f->file);
    scratch_close(&f->s);
}

/* Reads the next row; fails the test if there is none. */
static bm_status read_row(fixture *f)
{
    bool more = true;
    const bm_status status = next_pair(&f->file, &more, &f->err);
    cr_assert(more);
    return status;
}

static void expect_end(fixture *f)
{
    bool more = true;
    cr_expect_eq(next_pair(&f->file, &more, &f->err), BM_OK);
    cr_expect_not(more);
}

static void expect_ids(const bm_pair_file *file, bm_str a, bm_str b)
{
    cr_expect(file->id_a.len == a.len && memcmp(file->id_a.data, a.data, a.len) == 0);
    cr_expect(file->id_b.len == b.len && memcmp(file->id_b.data, b.data, b.len) == 0);
}

Test(pair_file, rows_come_back_as_they_are_meant)
{
    fixture f;
    cr_assert_eq(open_text(&f, HEADER "\na\tb\t0.818182\n\\t\\xff\t\\x00\\\\\t\na\t\t1"), BM_OK);
    cr_assert_eq(read_row(&f), BM_OK);
    expect_ids(&f.file, (bm_str){"a", 1}, (bm_str){"b", 1});
    cr_expect_eq(f.file.similarity, 0.818182);
    cr_assert_eq(read_row(&f), BM_OK);
    expect_ids(&f.file, (bm_str){"\t\xff", 2}, (bm_str){"\0\\", 2});
    cr_expect(isnan(f.file.similarity), "an empty similarity is not known");
    cr_assert_eq(read_row(&f), BM_OK, "the last row may lack its end");
    expect_ids(&f.file, (bm_str){"a", 1}, (bm_str){"", 0});
    cr_expect_eq(f.file.similarity, 1.0);
    expect_end(&f);
    close_all(&f);
}

Test(pair_file, a_similarity_is_the_double_nearest_to_what_is_written)
{
    static const struct {
        const char *text;
        double value;
    } cells[] = {{"0", 0.0},
                 {"1", 1.0},
                 {"1.000", 1.0},
                 {"0.1", 0x1.999999999999ap-4},
                 {"5e-1", 0.5},
                 {"5E-01", 0.5},
                 {"0.005e+2", 0.5},
                 {"00.25", 0.25},
                 {"1e-400", 0.0},
                 {"1e0", 1.0},
                 {"0.8", 0x1.999999999999ap-1}};
    char text[128];
    fixture f;
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        snprintf(text, sizeof text, HEADER "\na\tb\t%s\n", cells[i].text);
        cr_assert_eq(open_text(&f, text), BM_OK);
        cr_assert_eq(read_row(&f), BM_OK, "'%s'", cells[i].text);
        cr_expect_eq(f.file.similarity, cells[i].value, "'%s'", cells[i].text);
        close_all(&f);
    }
}

Test(pair_file, what_is_no_number_from_0_to_1_is_a_bad_row)
{
    static const char *const cells[] = {"nan", "inf",  "0x1", " 1",   "1 ",    "-0.5", "+1",
                                        ".5",  "1.",   "1e",  "1e+",  "0,5",   "1.01", "2",
                                        "1e1", "0.5x", "e1",  "1.e0", "1e-2.0"};
    char text[256];
    fixture f;
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        snprintf(text, sizeof text, HEADER "\na\tb\t0.5\na\tb\t%s\n", cells[i]);
        cr_assert_eq(open_text(&f, text), BM_OK);
        cr_assert_eq(read_row(&f), BM_OK);
        cr_expect_eq(read_row(&f), BM_ERR_INPUT, "'%s'", cells[i]);
        cr_expect_eq(f.err.line, 3);
        cr_expect_str_eq(f.err.file, f.path);
        close_all(&f);
    }
    snprintf(text, sizeof text, HEADER "\na\tb\t0.%0100d\n", 0); /* longer than any valid number */
    cr_assert_eq(open_text(&f, text), BM_OK);
    cr_expect_eq(read_row(&f), BM_ERR_INPUT);
    close_all(&f);
}

Test(pair_file, another_header_is_refused_as_the_caller_says)
{
    static const char *const others[] = {"",
                                         "\n",
                                         "a\tb\t0.5\n",
                                         "id_a\tid_b\n",
                                         HEADER "\tmore\n",
                                         "id_a,id_b,jaccard\n",
                                         "ID_A\tID_B\tJACCARD\n"};
    static const bm_status kinds[] = {BM_ERR_INPUT, BM_ERR_FORMAT};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        for (size_t k = 0; k < 2; k++) {
            fixture f = {0};
            f.s = scratch_open();
            scratch_put_text(&f.s, "p", others[i]);
            f.path = scratch_at(&f.s, "p");
            cr_expect_eq(bm_pair_file_open(f.path, kinds[k], NULL, &f.file, &f.err), kinds[k],
                         "%zu", i);
            cr_expect_eq(f.err.line, 1);
            scratch_close(&f.s);
        }
    }
}

Test(pair_file, a_dash_is_standard_input_and_stays_open)
{
    fixture f;
    cr_assert_eq(open_text(&f, HEADER "\na\tb\t0.25\n"), BM_OK);
    bm_pair_file_close(&f.file);
    const int fd = open(f.path, O_RDONLY);
    cr_assert_geq(fd, 0);
    cr_assert_eq(dup2(fd, STDIN_FILENO), STDIN_FILENO);
    cr_assert_eq(bm_pair_file_open("-", BM_ERR_INPUT, NULL, &f.file, &f.err), BM_OK);
    cr_assert_eq(read_row(&f), BM_OK);
    cr_expect_eq(f.file.similarity, 0.25);
    close_all(&f);
    cr_expect_neq(fcntl(STDIN_FILENO, F_GETFD), -1);
    close(fd);
}

/* === groups.jsonl ===
 *
 * Rows are read back as they were written, and refused if they are malformed. */

static bm_status open_groups(scratch *s, const char *text, bm_group_file *file)
{
    scratch_put_text(s, "g", text);
    return bm_group_file_open(scratch_at(s, "g"), UINT64_MAX, file, NULL);
}

Test(group_file, members_come_back_byte_for_byte)
{
    SCRATCH s = scratch_open();
    bm_group_file file;
    bm_json json = {0};
    bm_str id;
    bool more;
    char all[255];
    for (size_t i = 0; i < sizeof all; i++)
        all[i] = (char)(i + 1); /* every byte but NUL, most of them invalid UTF-8 */
    const bm_str ids[] = {{"a", 1}, {"", 0}, {all, sizeof all}, {"x\0y", 3}, {"]}\"", 3}};
    bm_json_begin_object(&json);
    bm_json_key_uint(&json, "group", 1);
    bm_json_key(&json, "kept");
    bm_json_string(&json, ids[2]);
    bm_json_key_uint(&json, "size", 5);
    bm_json_key(&json, "members");
    bm_json_begin_array(&json);
    for (size_t i = 0; i < 5; i++)
        bm_json_string(&json, ids[i]);
    bm_json_end_array(&json);
    bm_json_end_object(&json);
    cr_assert_eq(bm_json_finish(&json, NULL), BM_OK);
    scratch_put(&s, "g", json.buf.data, json.buf.len);
    cr_assert_eq(bm_group_file_open(scratch_at(&s, "g"), UINT64_MAX, &file, NULL), BM_OK);
    cr_assert_eq(bm_group_file_next(&file, &more, NULL), BM_OK);
    cr_assert(more && file.group == 1 && file.size == 5);
    cr_assert_eq(bm_group_file_kept(&file, &id, NULL), BM_OK);
    cr_expect(id.len == sizeof all && memcmp(id.data, all, id.len) == 0);
    for (size_t i = 0; i < 5; i++) {
        cr_assert_eq(next_member(&file, &id, &more, NULL), BM_OK);
        cr_assert(more && id.len == ids[i].len && memcmp(id.data, ids[i].data, id.len) == 0, "%zu",
                  i);
    }
    cr_assert_eq(next_member(&file, &id, &more, NULL), BM_OK);
    cr_assert(!more);
    cr_assert_eq(bm_group_file_next(&file, &more, NULL), BM_OK);
    cr_assert(!more);
    bm_group_file_close(&file);
    bm_buf_reset(&json.buf);
}

Test(group_file, a_row_longer_than_any_block_is_read)
{
    enum { MEMBERS = 400000 };
    SCRATCH s = scratch_open();
    bm_group_file file;
    bm_buf text = {0};
    bm_str id;
    bool more;
    char wanted[16];
    for (int group = 1; group <= 2; group++) {
        cr_assert_eq(bm_buf_add_format(&text, NULL,
                                       "{\"group\":%d,\"kept\":\"d0\",\"size\":%d,"
                                       "\"members\":[\"d0\"",
                                       group, MEMBERS),
                     BM_OK);
        for (int i = 1; i < MEMBERS; i++)
            cr_assert_eq(bm_buf_add_format(&text, NULL, ",\"d%d\"", i), BM_OK);
        cr_assert_eq(bm_buf_add_text(&text, "]}\n", NULL), BM_OK);
    }
    scratch_put(&s, "g", text.data, text.len);
    cr_assert_eq(bm_group_file_open(scratch_at(&s, "g"), UINT64_MAX, &file, NULL), BM_OK);
    for (int group = 1; group <= 2; group++) {
        cr_assert_eq(bm_group_file_next(&file, &more, NULL), BM_OK);
        cr_assert(more && file.size == MEMBERS);
        /* the first group's members are skipped */
        for (int i = 0; group == 2 && i < MEMBERS; i++) {
            cr_assert_eq(next_member(&file, &id, &more, NULL), BM_OK);
            int n = snprintf(wanted, sizeof wanted, "d%d", i);
            cr_assert(more && id.len == (size_t)n && memcmp(id.data, wanted, id.len) == 0);
        }
    }
    bm_group_file_close(&file);
    bm_buf_reset(&text);
}

/* Reads all rows and members; returns the line that is refused, 0 if none is. */
static uint64_t refused_line(scratch *s, const char *text)
{
    bm_group_file file;
    bm_error err = {0};
    bm_str id;
    bool more = true;
    bm_status status = open_groups(s, text, &file);
    while (status == BM_OK && more) {
        bool member = true;
        status = bm_group_file_next(&file, &more, &err);
        while (status == BM_OK && more && member)
            status = next_member(&file, &id, &member, &err);
    }
    cr_expect(status == BM_OK || status == BM_ERR_FORMAT, "%s", text);
    bm_group_file_close(&file);
    return status == BM_OK ? 0 : err.line;
}

Test(group_file, rows_that_are_no_groups_are_refused_with_their_line)
{
#define FIRST "{\"group\":1,\"kept\":\"a\",\"size\":2,\"members\":[\"a\",\"b\"]}\n"
    static const char *const bad[] = {
        "{}\n",
        "\n",
        "nothing\n",
        "{\"group\":2,\"kept\":\"c\",\"size\":2,\"members\":[\"c\",\"d\"]}",
        "{\"group\":3,\"kept\":\"c\",\"size\":2,\"members\":[\"c\",\"d\"]}\n",
        "{\"group\":2,\"kept\":\"c\",\"size\":3,\"members\":[\"c\",\"d\"]}\n",
        "{\"group\":2,\"kept\":\"c\",\"size\":1,\"members\":[\"c\",\"d\"]}\n",
        "{\"group\":2,\"kept\":\"c\",\"size\":2,\"members\":[\"c\",7]}\n",
        "{\"group\":2,\"kept\":\"c\",\"size\":2,\"members\":[\"c\",\"\\u00e9\"]}\n",
        "{\"group\":2,\"kept\":\"c\",\"size\":2,\"members\":[\"c\",\"\\q\"]}\n",
        "{\"group\":2,\"kept\":\"c\",\"size\":-2,\"members\":[\"c\",\"d\"]}\n",
        "{\"group\":2,\"kept\":\"c\",\"members\":[\"c\",\"d\"]}\n",
        "{\"group\":2,\"kept\":\"c\",\"size\":2,\"members\":[\"c\",\"d\"\n"};
    SCRATCH s = scratch_open();
    char text[512];
    cr_expect_eq(refused_line(&s, FIRST), 0);
    cr_expect_eq(refused_line(&s, ""), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, FIRST "%s", bad[i]);
        cr_expect_eq(refused_line(&s, text), 2, "%s", bad[i]);
    }
}

Test(group_file, a_missing_file_is_no_group_file)
{
    bm_group_file file;
    bm_error err = {0};
    cr_expect_eq(bm_group_file_open("/nowhere/groups.jsonl", UINT64_MAX, &file, &err),
                 BM_ERR_FORMAT);
    cr_expect_str_eq(err.file, "/nowhere/groups.jsonl");
}

Test(group_file, a_row_that_does_not_fit_into_the_memory_is_refused)
{
    SCRATCH s = scratch_open();
    bm_group_file file;
    bm_error err = {0};
    bool more = true;
    scratch_put_text(&s, "g", FIRST);
    for (uint64_t room = sizeof FIRST - 3; room < sizeof FIRST; room++) {
        const bool fits = room >= sizeof FIRST - 2; /* the capacity needed, without LF and NUL */
        cr_assert_eq(bm_group_file_open(scratch_at(&s, "g"), room, &file, NULL), BM_OK);
        cr_expect_eq(bm_group_file_next(&file, &more, &err), fits ? BM_OK : BM_ERR_NOMEM);
        cr_expect_eq(more, fits);
        bm_group_file_close(&file);
    }
    cr_expect_eq(err.line, 1);
}

/* Loads the first row of a text into a set of at most `most` bytes. */
static bm_status load_text(const char *text, uint64_t most, bm_group_members *members,
                           bm_error *err)
{
    SCRATCH s = scratch_open();
    bm_group_file file;
    bool more;
    cr_assert_eq(open_groups(&s, text, &file), BM_OK);
    cr_assert_eq(bm_group_file_next(&file, &more, NULL), BM_OK);
    bm_id_set_reset(members->ids);
    members->most = most;
    const bm_status status = bm_group_file_load(&file, members, err);
    bm_group_file_close(&file);
    return status;
}

Test(group_file, a_group_is_loaded_with_the_number_of_the_kept_one)
{
    bm_id_set ids = {0};
    bm_group_members members = {.ids = &ids};
    bm_error err = {0};
    cr_expect_eq(
        load_text("{\"group\":1,\"kept\":\"b\",\"size\":3,\"members\":[\"a\",\"b\",\"c\"]}\n",
                  UINT64_MAX, &members, &err),
        BM_OK);
    cr_expect(members.fits && ids.n == 3 && members.kept == 1);
    cr_expect_eq(bm_id_set_id(&ids, 2).data[0], 'c');
    /* the kept document is a known one: it is not searched among the members, even if a member has
     * its id */
    cr_expect_eq(
        load_text("{\"group\":1,\"kept\":\"a\",\"size\":1,\"members\":[\"a\"],\"known\":[\"a\"]}\n",
                  UINT64_MAX, &members, &err),
        BM_OK);
    cr_expect(members.fits && ids.n == 1 && members.kept == BM_ID_NONE);
    cr_expect_eq(load_text("{\"group\":1,\"kept\":null,\"size\":1,\"members\":[\"a\"]}\n",
                           UINT64_MAX, &members, &err),
                 BM_OK);
    cr_expect(ids.n == 1 && members.kept == BM_ID_NONE && members.kept_id.data == NULL);
    cr_expect_eq(load_text(FIRST, 1, &members, &err), BM_OK);
    cr_expect(!members.fits && ids.n == 0);
    cr_expect_eq(load_text("{\"group\":1,\"kept\":\"a\",\"size\":2,\"members\":[\"a\",\"a\"]}\n",
                           UINT64_MAX, &members, &err),
                 BM_ERR_FORMAT);
    cr_expect_str_eq(err.message, "a document is twice in the group");
    cr_expect_eq(load_text("{\"group\":1,\"kept\":\"z\",\"size\":1,\"members\":[\"a\"]}\n",
                           UINT64_MAX, &members, &err),
                 BM_ERR_FORMAT);
    cr_expect_str_eq(err.message, "the kept document is not in the group");
    bm_id_set_reset(&ids);
}
