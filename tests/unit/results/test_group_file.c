/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of groups.jsonl: read back as they were written, refused if they are malformed. */
#include <criterion/criterion.h>

#include <string.h>

#include "tests/unit/base/scratch.h"
#include "json/json_write.h"
#include "results/pair_file.h"

static bm_status open_text(scratch *s, const char *text, bm_group_file *file)
{
    scratch_put_text(s, "g", text);
    return bm_group_file_open(scratch_at(s, "g"), UINT64_MAX, file, NULL);
}

Test(group_file, members_come_back_byte_for_byte)
{
    scratch s;
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
    scratch_open(&s);
    scratch_put(&s, "g", json.buf.data, json.buf.len);
    cr_assert_eq(bm_group_file_open(scratch_at(&s, "g"), UINT64_MAX, &file, NULL), BM_OK);
    cr_assert_eq(bm_group_file_next(&file, &more, NULL), BM_OK);
    cr_assert(more && file.group == 1 && file.size == 5);
    cr_assert_eq(bm_group_file_kept(&file, &id, NULL), BM_OK);
    cr_expect(id.len == sizeof all && memcmp(id.data, all, id.len) == 0);
    for (size_t i = 0; i < 5; i++) {
        cr_assert_eq(bm_group_file_member(&file, &id, &more, NULL), BM_OK);
        cr_assert(more && id.len == ids[i].len && memcmp(id.data, ids[i].data, id.len) == 0, "%zu",
                  i);
    }
    cr_assert_eq(bm_group_file_member(&file, &id, &more, NULL), BM_OK);
    cr_assert(!more);
    cr_assert_eq(bm_group_file_next(&file, &more, NULL), BM_OK);
    cr_assert(!more);
    bm_group_file_close(&file);
    bm_buf_reset(&json.buf);
    scratch_close(&s);
}

Test(group_file, a_row_longer_than_any_block_is_read)
{
    enum { MEMBERS = 400000 };
    scratch s;
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
    scratch_open(&s);
    scratch_put(&s, "g", text.data, text.len);
    cr_assert_eq(bm_group_file_open(scratch_at(&s, "g"), UINT64_MAX, &file, NULL), BM_OK);
    for (int group = 1; group <= 2; group++) {
        cr_assert_eq(bm_group_file_next(&file, &more, NULL), BM_OK);
        cr_assert(more && file.size == MEMBERS);
        /* the first group's members are skipped */
        for (int i = 0; group == 2 && i < MEMBERS; i++) {
            cr_assert_eq(bm_group_file_member(&file, &id, &more, NULL), BM_OK);
            int n = snprintf(wanted, sizeof wanted, "d%d", i);
            cr_assert(more && id.len == (size_t)n && memcmp(id.data, wanted, id.len) == 0);
        }
    }
    bm_group_file_close(&file);
    bm_buf_reset(&text);
    scratch_close(&s);
}

/* Reads all rows and members; returns the line that is refused, 0 if none is. */
static uint64_t refused_line(scratch *s, const char *text)
{
    bm_group_file file;
    bm_error err = {0};
    bm_str id;
    bool more = true;
    bm_status status = open_text(s, text, &file);
    while (status == BM_OK && more) {
        bool member = true;
        status = bm_group_file_next(&file, &more, &err);
        while (status == BM_OK && more && member)
            status = bm_group_file_member(&file, &id, &member, &err);
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
    scratch s;
    char text[512];
    scratch_open(&s);
    cr_expect_eq(refused_line(&s, FIRST), 0);
    cr_expect_eq(refused_line(&s, ""), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, FIRST "%s", bad[i]);
        cr_expect_eq(refused_line(&s, text), 2, "%s", bad[i]);
    }
    scratch_close(&s);
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
    scratch s;
    bm_group_file file;
    bm_error err = {0};
    bool more = true;
    scratch_open(&s);
    scratch_put_text(&s, "g", FIRST);
    for (uint64_t room = sizeof FIRST - 3; room < sizeof FIRST; room++) {
        const bool fits = room >= sizeof FIRST - 2; /* the capacity needed, without LF and NUL */
        cr_assert_eq(bm_group_file_open(scratch_at(&s, "g"), room, &file, NULL), BM_OK);
        cr_expect_eq(bm_group_file_next(&file, &more, &err), fits ? BM_OK : BM_ERR_NOMEM);
        cr_expect_eq(more, fits);
        bm_group_file_close(&file);
    }
    cr_expect_eq(err.line, 1);
    scratch_close(&s);
}

/* Loads the first row of a text into a set of at most `most` bytes. */
static bm_status load_text(const char *text, uint64_t most, bm_group_members *members,
                           bm_error *err)
{
    scratch s;
    bm_group_file file;
    bool more;
    scratch_open(&s);
    cr_assert_eq(open_text(&s, text, &file), BM_OK);
    cr_assert_eq(bm_group_file_next(&file, &more, NULL), BM_OK);
    bm_id_set_reset(members->ids);
    members->most = most;
    const bm_status status = bm_group_file_load(&file, members, err);
    bm_group_file_close(&file);
    scratch_close(&s);
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
