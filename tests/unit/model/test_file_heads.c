/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "model/file_names.h"

static bool is_ours(const char *text)
{
    return bm_file_head_is_ours(text, strlen(text));
}

Test(file_heads, what_we_write_is_ours)
{
    static const char *const ours[] = {
        "",
        "id_a\tid_b\tjaccard\n",
        "id_a\tid_b\tjaccard\na\tb\t1.000000\n",
        "threshold\tpairs\tgroups\tlargest\tremoved\n0.8\t1\t1\t2\t1\n",
        "query\ttarget\tjaccard\nq\ta\t1.000000\n",
        "low\thigh\tpairs\n0.00\t0.01\t0\n",
        "graph bandmill {\n  node [shape=box];\n",
        "{\"group\":12,\"kept\":\"a\",\"size\":2,\"members\":[\"a\",\"b\"]}\n",
        "{\n  \"schema\": 1,\n  \"tool\": \"bandmill\",\n  \"kind\": \"dedup\"",
        "{\"schema\":1,\"kind\":\"cluster\",\"cluster\":\"star\"",
        "{\"schema\":10,\"kind\":\"explain\",\"threshold\"",
        "group 7: 2 documents, 1 pair, a is kept\n",
        "{\"schema\":1,\"kind\":\"report\",\"version\"",
        BM_HEAD_PAGE "<meta",
        BM_HEAD_PICTURE "<desc",
        BM_HEAD_PLANS_PICTURE("1740") "<desc",
    };
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        cr_expect(is_ours(ours[i]), "%s", ours[i]);
}

Test(file_heads, what_begins_otherwise_is_not)
{
    static const char *const theirs[] = {
        "\n",
        "x",
        "id_a\tid_b\tjaccard", /* cut short */
        "id_a\tid_b\tjaccards\n",
        " id_a\tid_b\tjaccard\n",
        "{\"group\":,\"kept\":\"a\"",
        "{\"group\":1x,\"kept\":\"a\"",
        "{\"group\":1",
        "{\"schema\":1,\"kind\":\"other\",",
        "group 7: documents",
        "group : 2 documents",
        "graph other {\n",
    };
    for (size_t i = 0; i < sizeof theirs / sizeof theirs[0]; i++)
        cr_expect_not(is_ours(theirs[i]), "%s", theirs[i]);
}

Test(file_heads, so_many_bytes_are_enough)
{
    char head[BM_FILE_HEAD_BYTES];
    cr_assert_leq(sizeof BM_HEAD_PICTURE, sizeof head);
    cr_assert_leq(sizeof BM_HEAD_PLANS_PICTURE("1234567"), sizeof head);
    memset(head, '9', sizeof head);
    memcpy(head, "group ", 6); /* a number that is cut off */
    cr_expect_not(bm_file_head_is_ours(head, sizeof head));
}
