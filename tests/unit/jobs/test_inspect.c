/* SPDX-License-Identifier: Apache-2.0 */
/* test_inspect.c -- the output of `inspect` for files that the tests write by hand. */
#include <criterion/criterion.h>
#include <bandmill/job.h>

#include "tests/world/scratch.h"
#include "results/npy.h"
#include "tests/world/world_npy.h"

static char *inspect(scratch *s, const char *name)
{
    char *json = NULL;
    bm_error err = {0};
    cr_assert_eq(bm_inspect(scratch_at(s, name), &json, &err), BM_OK, "%s: %s: %s", name, err.file,
                 err.message);
    return json;
}

static void expect_in(scratch *s, const char *name, const char *const *parts)
{
    char *json = inspect(s, name);
    for (; *parts != NULL; parts++)
        cr_expect(strstr(json, *parts) != NULL, "%s in %s", *parts, json);
    bm_string_free(json);
}

static void expect_refused(scratch *s, const char *name, const char *words)
{
    char *json = NULL;
    bm_error err = {0};
    cr_expect_eq(bm_inspect(scratch_at(s, name), &json, &err), BM_ERR_FORMAT, "%s", name);
    cr_expect(strstr(err.message, words) != NULL, "%s: %s", name, err.message);
    cr_expect_null(json);
}

#define PARTS(...) ((const char *const[]){__VA_ARGS__, NULL})

Test(inspect, tables_are_told_by_their_header)
{
    SCRATCH s = scratch_open();
    scratch_put_text(&s, "any", "id_a\tid_b\tjaccard\na\tb\t0.812500\na\tc\t1.000000\n");
    expect_in(&s, "any",
              PARTS("\"kind\": \"pairs\"", "\"rows\": 2", "\"least_jaccard\": 0.8125",
                    "\"greatest_jaccard\": 1", "\"jaccard\""));
    scratch_put_text(&s, "any", "id_a\tid_b\tjaccard\na\tb\t\n");
    expect_in(&s, "any", PARTS("\"rows\": 1"));
    scratch_put_text(&s, "any", "id\tkept\tjaccard\treason\tfile\tline\n");
    expect_in(&s, "any", PARTS("\"kind\": \"removed\"", "\"rows\": 0"));
    scratch_put_text(&s, "any", "id_a\tid_b\tjaccard\na\tb\n");
    expect_refused(&s, "any", "columns");
    scratch_put_text(&s, "any", "id_a\tid_b\tjaccard\na\tb\t0.8\n");
    expect_refused(&s, "any", "six decimals");
    scratch_put_text(&s, "any", "id_a\tid_b\tjaccard\na\tb\t1.000001\n");
    expect_refused(&s, "any", "six decimals");
    scratch_put_text(&s, "any", "id_a\tid_b\tjaccard\na\tb\t0.812500");
    expect_refused(&s, "any", "newline");
}

Test(inspect, groups_are_counted_and_checked)
{
    SCRATCH s = scratch_open();
    scratch_put_text(&s, "g",
                     "{\"group\":1,\"kept\":\"a\",\"size\":2,\"members\":[\"a\",\"b\"]}\n"
                     "{\"group\":2,\"kept\":\"c\",\"size\":3,\"members\":[\"c\",\"]\","
                     "\"e\"]}\n");
    expect_in(&s, "g",
              PARTS("\"kind\": \"groups\"", "\"groups\": 2", "\"documents\": 5", "\"largest\": 3"));
    scratch_put_text(&s, "g",
                     "{\"group\":1,\"kept\":\"a\",\"size\":3,\"members\":[\"a\",\"b\"]}\n");
    expect_refused(&s, "g", "members");
    scratch_put_text(&s, "g",
                     "{\"group\":2,\"kept\":\"a\",\"size\":2,\"members\":[\"a\",\"b\"]}\n");
    expect_refused(&s, "g", "no group");
    scratch_put_text(&s, "g", "{\"group\":1,\"size\":2,\"members\":[\"a\",\"b\"]}\n");
    expect_refused(&s, "g", "no group"); /* no member is kept */
}

Test(inspect, arrays_show_type_and_shape)
{
    SCRATCH s = scratch_open();
    char file[BM_NPY_HEADER_BYTES + 24] = {0};
    world_npy_header("<u8", 3, 0, file);
    scratch_put(&s, "a", file, sizeof file);
    expect_in(&s, "a", PARTS("\"kind\": \"array\"", "\"type\": \"<u8\"", "3"));
    scratch_put(&s, "a", file, sizeof file - 1);
    expect_refused(&s, "a", "bytes");
}

#define REPORT                                                                                     \
    "{\"schema\":1,\"tool\":\"bandmill\",\"kind\":\"dedup\",\"version\":\"0.1.0\","                \
    "\"counts\":{\"documents\":7},\"outputs\":{\"removed.tsv\":"                                   \
    "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"}}"

Test(inspect, a_directory_is_checked_against_its_digests)
{
    SCRATCH s = scratch_open();
    scratch_folder(&s, "out");
    expect_refused(&s, "out", "no manifest.json");
    scratch_put_text(&s, "out/report.json", REPORT);
    scratch_put_text(&s, "out/removed.tsv", "abc"); /* the text of FIPS 180-4's example */
    expect_in(&s, "out",
              PARTS("\"kind\": \"dedup\"", "\"documents\": 7", "\"digests\": \"ok\"",
                    "\"file\": \"removed.tsv\"", "\"bytes\": 3"));
    expect_in(&s, "out/report.json", PARTS("\"kind\": \"dedup\"", "\"version\": \"0.1.0\""));
    scratch_put_text(&s, "out/removed.tsv", "abd");
    expect_refused(&s, "out", "SHA-256");
}

/* A report rewritten by another program: its members are sorted, so the tool's name comes late. */
Test(inspect, a_report_is_told_by_its_name_too)
{
    SCRATCH s = scratch_open();
    scratch_put_text(&s, "x",
                     "{\"counts\":{\"a_long_name_that_stands_for_many_counts_of_a_report\":1234567,"
                     "\"another_long_name_that_stands_for_many_counts_of_a_report\":1234567,"
                     "\"documents\":7},\"kind\":\"dedup\",\"outputs\":{\"removed.tsv\":"
                     "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"},"
                     "\"schema\":1,\"tool\":\"bandmill\",\"version\":\"0.1.0\"}");
    expect_refused(&s, "x", "no file that inspect knows");
    cr_assert_eq(rename(scratch_at(&s, "x"), scratch_at(&s, "report.json")), 0);
    expect_in(&s, "report.json", PARTS("\"kind\": \"dedup\"", "\"documents\": 7"));
    scratch_put_text(&s, "report.json", " " REPORT);
    expect_in(&s, "report.json", PARTS("\"kind\": \"dedup\""));
    scratch_put_text(&s, "report.json", "");
    expect_refused(&s, "report.json", "JSON");
}

Test(inspect, ids_are_told_by_name_and_strangers_are_refused)
{
    SCRATCH s = scratch_open();
    char *json = NULL;
    scratch_put_text(&s, "ids.txt", "a\nb\nc\n");
    expect_in(&s, "ids.txt", PARTS("\"kind\": \"ids\"", "\"ids\": 3"));
    scratch_put_text(&s, "x", "any text\n");
    expect_refused(&s, "x", "no file that inspect knows");
    scratch_put_text(&s, "x", "");
    expect_refused(&s, "x", "no file that inspect knows");
    scratch_put_text(&s, "kept.jsonl", "{\"id\":\"a\"}\n{\"id\":\"b\"}\n");
    expect_refused(&s, "kept.jsonl", "no file that inspect knows");
    scratch_put_text(&s, "histogram.tsv", "low\thigh\tpairs\n0.00\t0.01\t7\n");
    expect_in(&s, "histogram.tsv", PARTS("\"kind\": \"histogram\"", "\"rows\": 1"));
    scratch_put_text(&s, "x", "{\"tool\":\"other\"}");
    expect_refused(&s, "x", "tool");
    scratch_put_text(&s, "x", "{\"tool\":");
    char *unused = NULL;
    cr_expect_eq(bm_inspect(scratch_at(&s, "x"), &unused, NULL), BM_ERR_FORMAT);
    cr_expect_eq(bm_inspect(scratch_at(&s, "nowhere"), &json, NULL), BM_ERR_IO);
}
