/* SPDX-License-Identifier: Apache-2.0 */
/* test_manifest_seal.c -- a report that has its own digest: any other bytes are refused. The
 * digests are those of the `xxhash` package for Python. */
#include <criterion/criterion.h>
#include <string.h>

#include "output/manifest.h"

static bm_status check(const char *text, size_t len, bm_error *err)
{
    return bm_manifest_seal_check("r.json", (bm_str){text, len}, err);
}

/* {"a":1,"run":{"s":2 and its seal */
static void write_report(bm_json *json)
{
    bm_json_begin_object(json);
    bm_json_key_uint(json, "a", 1);
    bm_json_key(json, "run");
    bm_json_begin_object(json);
    bm_json_key_uint(json, "s", 2);
    bm_manifest_seal(json);
    bm_json_end_object(json);
    bm_json_end_object(json);
    cr_assert_eq(bm_json_finish(json, NULL), BM_OK);
}

Test(manifest_seal, is_the_digest_of_what_stands_before_it)
{
    bm_json json = {0};
    write_report(&json);
    cr_expect_str_eq(
        json.buf.data,
        "{\"a\":1,\"run\":{\"s\":2,\"report_xxh3_128\":\"3d3efcac0da369dea4cc460944c6e8e7\"}}\n");
    bm_buf_reset(&json.buf);
}

Test(manifest_seal, every_flipped_bit_and_every_cut_is_refused_or_changes_no_value)
{
    for (int pretty = 0; pretty < 2; pretty++) {
        bm_json json = {.pretty = pretty != 0};
        write_report(&json);
        char *text = json.buf.data;
        const size_t len = strlen(text), name = (size_t)(strstr(text, "report_") - text);
        const size_t value = (size_t)(strstr(text + name, pretty != 0 ? "\": " : "\":") - text) +
                             (pretty != 0 ? 3 : 2);
        bm_error err = {0};
        cr_assert_eq(check(text, len, &err), BM_OK, "%s", err.message);
        for (size_t bit = 0; bit < 8 * len; bit++) {
            const size_t at = bit / 8;
            text[at] = (char)(text[at] ^ 1 << bit % 8);
            const bm_status status = check(text, len, &err);
            text[at] = (char)(text[at] ^ 1 << bit % 8);
            if (at + 2 < name || (at > value && at < value + 33))
                cr_expect_eq(status, BM_ERR_FORMAT, "bit %zu", bit);
        }
        for (size_t cut = value; cut < value + 34; cut++)
            cr_expect_eq(check(text, cut, &err), BM_ERR_FORMAT);
        cr_expect_str_eq(err.file, "r.json");
        bm_buf_reset(&json.buf);
    }
}

Test(manifest_seal, a_report_without_one_is_taken)
{
    static const char *const texts[] = {"", "{}", "{\"report_xxh3_12\":\"\"}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        cr_expect_eq(check(texts[i], strlen(texts[i]), NULL), BM_OK, "%s", texts[i]);
}
