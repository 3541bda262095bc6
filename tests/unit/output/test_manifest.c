/* SPDX-License-Identifier: Apache-2.0 */
/* test_manifest.c -- static functions of src/output/manifest.c. */
#include "output/manifest.c"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/world/scratch.h"
#include "tests/world/world_calls.h"

/* === listed ===
 *
 * A file, read in steps of any size, is accepted if it matches its manifest's entry, and refused
 * otherwise; by XXH3 if the manifest has it, else by SHA-256. "abc" is FIPS 180-2's example; its
 * XXH3 comes from Python's `xxhash` package. */

#define OURS   "{\"schema\":1,\"tool\":\"bandmill\",\"kind\":\"dedup\",\"version\":\"0\","
#define HEAD   OURS "\"outputs\":"
#define SHA256 "{\"a.tsv\":\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"}"
#define OTHER  "{\"a.tsv\":\"00\"}"
#define XXH3   "{\"a.tsv\":\"06b05ab6733a618578af5f94892f3950\"}"

static bm_manifest *manifest_of(scratch *s, const char *text)
{
    scratch_put_text(s, "report.json", text);
    return world_open(bm_manifest, scratch_at(s, "report.json"), 0);
}

static bm_status compare(const bm_manifest *manifest, const char *text, size_t step, bm_error *err)
{
    bm_listed *listed = NULL;
    bm_status status = bm_listed_open(manifest, "a.tsv", "dir/a.tsv", &listed, err);
    for (size_t at = 0; status == BM_OK && at < strlen(text); at += step)
        status = bm_listed_add(listed, text + at, step, err);
    if (status == BM_OK)
        status = bm_listed_end(listed, err);
    bm_listed_close(listed);
    return status;
}

Test(listed, bytes_are_those_listed_or_refused)
{
    static const char *const texts[] = {
        HEAD SHA256 "}",                               /* written by an earlier version */
        HEAD SHA256 ",\"outputs_xxh3_128\":" XXH3 "}", /* as written today */
        HEAD OTHER ",\"outputs_xxh3_128\":" XXH3 "}",  /* XXH3 takes precedence, and it is right */
    };
    SCRATCH s = scratch_open();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        bm_error err = {0};
        bm_manifest *manifest = manifest_of(&s, texts[i]);
        cr_expect_eq(compare(manifest, "abc", 1, &err), BM_OK, "%zu: %s", i, err.message);
        cr_expect_eq(compare(manifest, "abc", 3, &err), BM_OK);
        cr_expect_eq(compare(manifest, "abd", 3, &err), BM_ERR_FORMAT);
        cr_expect_str_eq(err.file, "dir/a.tsv");
        cr_expect_not_null(strstr(err.message, "report.json lists"), "%s", err.message);
        cr_expect_eq(compare(manifest, "abca", 4, &err), BM_ERR_FORMAT);
        cr_expect_eq(compare(manifest, "", 1, &err), BM_ERR_FORMAT);
        bm_manifest_close(manifest);
    }
}

Test(listed, a_file_that_nobody_listed_is_refused_by_its_name)
{
    SCRATCH s = scratch_open();
    bm_listed *listed = NULL;
    bm_error err = {0};
    bm_manifest *manifest = manifest_of(&s, HEAD SHA256 "}");
    cr_expect_eq(bm_listed_open(manifest, "b.tsv", "b.tsv", &listed, &err), BM_ERR_FORMAT);
    cr_expect_not_null(strstr(err.message, "b.tsv"), "%s", err.message);
    cr_expect_eq(bm_listed_add(NULL, "x", 1, NULL), BM_OK, "nothing to compare with");
    cr_expect_eq(bm_listed_end(NULL, NULL), BM_OK);
    bm_listed_close(NULL);
    bm_manifest_close(manifest);
}

Test(listed, a_second_digest_of_no_output_is_refused)
{
    SCRATCH s = scratch_open();
    bm_manifest *manifest = NULL;
    scratch_put_text(&s, "report.json", HEAD "{},\"outputs_xxh3_128\":" XXH3 "}");
    cr_expect_eq(bm_manifest_open(scratch_at(&s, "report.json"), 0, &manifest, NULL),
                 BM_ERR_FORMAT);
}

/* --- files of several pieces: "abc" by 2 bytes, with digests from Python's hashlib and xxhash ---
 */

#define PIECES_SHA                                                                                 \
    "{\"a.tsv\":\"115323e562c4a4fdf7ceacedca660dc4bbe1389dab9323aad08440907c7426d0\"}"
#define PIECES_XXH3 "{\"a.tsv\":\"de87d2c272b918a6e809d31f49a84356\"}"
#define PIECES_LIST                                                                                \
    "{\"a.tsv\":[\"89c65ebc828eebaca873719c24d5735c\",\"12d8bdd17f74de858c40219a46b9f81b\"]}"
#define BY_TWO ",\"outputs_piece_bytes\":2,\"digests\":2}"

Test(listed, a_file_is_compared_by_the_pieces_that_the_manifest_says)
{
    static const char *const texts[] = {HEAD PIECES_SHA BY_TWO, HEAD PIECES_SHA
                                        ",\"outputs_xxh3_128\":" PIECES_XXH3 BY_TWO};
    SCRATCH s = scratch_open();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        bm_error err = {0};
        bm_manifest *manifest = manifest_of(&s, texts[i]);
        cr_expect_eq(manifest_piece_bytes(manifest), 2);
        cr_expect_eq(compare(manifest, "abc", 1, &err), BM_OK, "%zu: %s", i, err.message);
        cr_expect_eq(compare(manifest, "abd", 3, &err), BM_ERR_FORMAT);
        cr_expect_null(strstr(err.message, "piece"), "%s", err.message);
        bm_manifest_close(manifest);
    }
}

Test(listed, the_first_piece_that_differs_is_named_where_pieces_are_listed)
{
    SCRATCH s = scratch_open();
    bm_error err = {0};
    bm_manifest *manifest =
        manifest_of(&s, HEAD PIECES_SHA ",\"outputs_xxh3_128\":" PIECES_XXH3
                                        ",\"outputs_pieces_xxh3_128\":" PIECES_LIST BY_TWO);
    cr_expect_eq(compare(manifest, "abc", 3, &err), BM_OK, "%s", err.message);
    cr_expect_eq(compare(manifest, "abd", 3, &err), BM_ERR_FORMAT);
    cr_expect_not_null(strstr(err.message, "of piece 2 of 2 (from byte 2 on)"), "%s", err.message);
    cr_expect_eq(compare(manifest, "bbc", 3, &err), BM_ERR_FORMAT);
    cr_expect_not_null(strstr(err.message, "of piece 1 of 2 (from byte 0 on)"), "%s", err.message);
    bm_manifest_close(manifest);
}

Test(listed, digests_of_a_later_version_or_of_no_pieces_are_refused)
{
    static const char *const texts[] = {
        HEAD "{},\"outputs_piece_bytes\":2,\"digests\":3}",
        HEAD "{},\"outputs_piece_bytes\":0,\"digests\":2}",
        HEAD "{},\"digests\":2}",
        HEAD "{},\"outputs_pieces_xxh3_128\":" PIECES_LIST BY_TWO,
    };
    SCRATCH s = scratch_open();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        bm_manifest *manifest = NULL;
        scratch_put_text(&s, "report.json", texts[i]);
        cr_expect_eq(bm_manifest_open(scratch_at(&s, "report.json"), 0, &manifest, NULL),
                     BM_ERR_FORMAT, "%zu", i);
    }
}

/* === seal ===
 *
 * A report that contains its own digest: any change of its bytes is refused. The digests come from
 * Python's `xxhash` package. */

static bm_status check(const char *text, size_t len, bm_error *err)
{
    return manifest_seal_check("r.json", (bm_str){text, len}, err);
}

/* Writes {"a":1,"run":{"s":2 and its seal. */
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
