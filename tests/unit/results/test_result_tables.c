/* SPDX-License-Identifier: Apache-2.0 */
/* Headers and rows of our own tables, compared with the text that docs/formats.md specifies,
 * repeated here by hand. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/result_tables.h"
#include "tests/world/world_text.h"

static void expect_text(bm_buf *buf, const char *wanted)
{
    cr_assert_eq(bm_buf_end(buf, NULL), BM_OK);
    cr_expect_str_eq(buf->data, wanted);
    bm_buf_reset(buf);
}

Test(result_tables, headers_are_told_apart_whole)
{
    static const struct {
        const char *kind, *header;
    } wanted[BM_N_TABLES] = {
        {"pairs", "id_a\tid_b\tjaccard"},
        {"pairs", "id_a\tid_b\tcontainment"},
        {"pairs", "id_a\tfrom_a\tid_b\tfrom_b\tjaccard"},
        {"pairs", "id_a\tid_b\tjaccard\tedit"},
        {"pairs", "id_a\tid_b\tcontainment\tedit"},
        {"removed", "id\tkept\tjaccard\treason\tfile\tline\tlost"},
        {"sources", "file\tfirst_row\tdocuments\tskipped\tremoved\tkept\tfrom_record"},
        {"skipped", "file\tline\treason"},
        {"thresholds", "threshold\tpairs\tgroups\tlargest\tremoved"},
        {"answers", "query\ttarget\tjaccard"},
        {"answers", "query\ttarget\tcontainment"},
        {"histogram", "low\thigh\tpairs"},
        {"overlap", "id\titem\tcoverage\thits\tlongest\tfrom\tto\tfile\tline"},
        {"items", "item\tshingles\tdocuments\tcoverage\ttogether\tfile\tline"},
        {"cuts", "id\tfrom\tto\tkept\tkept_from\tjaccard\treason\tfile\tline"},
    };
    for (unsigned i = 0; i < BM_N_TABLES; i++) {
        const char *header = wanted[i].header;
        bm_buf out = {0};
        char begun[128];
        cr_expect_str_eq(bm_table_header((bm_table)i), header);
        cr_expect_str_eq(bm_table_kind((bm_table)i), wanted[i].kind);
        cr_expect_eq(bm_table_of_header(world_str(header)), i);
        cr_expect_eq(bm_table_of_header((bm_str){header, strlen(header) - 1}), BM_N_TABLES);
        cr_assert_eq(bm_table_begin(&out, (bm_table)i, NULL), BM_OK);
        snprintf(begun, sizeof begun, "%s\n", header);
        expect_text(&out, begun);
    }
    cr_expect_eq(bm_table_of_header(world_str("")), BM_N_TABLES);
    cr_expect_eq(bm_table_of_header(world_str("id_a\tid_b\tjaccard\tmore")), BM_N_TABLES);
}

static void expect_decimals(double jaccard)
{
    const bm_pair_line line = {.id_a = world_str("a"),
                               .id_b = world_str("b"),
                               .measure = BM_MEASURE_JACCARD,
                               .similarity = jaccard};
    bm_buf out = {0};
    char wanted[32];
    snprintf(wanted, sizeof wanted, "a\tb\t%.6f\n", jaccard);
    cr_assert_eq(bm_pair_line_add(&out, &line, NULL), BM_OK);
    cr_assert(out.len == strlen(wanted) && memcmp(out.data, wanted, out.len) == 0, "%.17g",
              jaccard);
    bm_buf_reset(&out);
}

/* Six decimals as printf writes them: for every ratio of small sets, for exact ties (k / 128 and
 * others, rounded to even), and for the doubles next to ties. */
Test(result_tables, similarities_are_rounded_as_printf_does)
{
    for (unsigned common, all = 1; all <= 400; all++)
        for (common = 0; common <= all; common++)
            expect_decimals((double)common / all);
    for (unsigned k = 0; k <= 1u << 14; k++)
        expect_decimals(k / (double)(1u << 14));
    for (unsigned k = 0; k < 1000000; k += 37) {
        const double middle = (k + 0.5) / 1e6;
        expect_decimals(middle);
        expect_decimals(nextafter(middle, 0));
        expect_decimals(nextafter(middle, 1));
    }
    expect_decimals(nextafter(1, 0));
    expect_decimals(0x1p-1074);
}

/* Cells are in the order of the header's columns. */
Test(result_tables, columns_stand_where_their_names_do)
{
    static const struct {
        bm_table table;
        size_t column;
        const char *name;
    } columns[] = {{BM_TABLE_REMOVED, BM_REMOVED_FILE, "file"},
                   {BM_TABLE_REMOVED, BM_REMOVED_LINE, "line"},
                   {BM_TABLE_REMOVED, BM_REMOVED_LOST, "lost"},
                   {BM_TABLE_SKIPPED, BM_SKIPPED_FILE, "file"},
                   {BM_TABLE_SKIPPED, BM_SKIPPED_LINE, "line"}};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        const char *at = bm_table_header(columns[i].table);
        for (size_t c = 0; c < columns[i].column; c++)
            at = strchr(at, '\t') + 1;
        cr_expect_eq(strcspn(at, "\t"), strlen(columns[i].name));
        cr_expect_eq(strncmp(at, columns[i].name, strlen(columns[i].name)), 0);
    }
}

Test(result_tables, a_pair_is_an_object_with_the_same_names)
{
    bm_buf out = {0};
    const bm_pair_line known = {.id_a = world_str("a\""),
                                .id_b = world_str("b\t"),
                                .measure = BM_MEASURE_JACCARD,
                                .similarity = 0.5};
    const bm_pair_line unknown = {.id_a = world_str("a"),
                                  .id_b = world_str("b"),
                                  .measure = BM_MEASURE_JACCARD,
                                  .similarity = NAN};
    cr_assert_eq(bm_pair_line_add_json(&out, &known, NULL), BM_OK);
    cr_assert_eq(bm_pair_line_add_json(&out, &unknown, NULL), BM_OK);
    expect_text(&out, "{\"id_a\":\"a\\\"\",\"id_b\":\"b\\t\",\"jaccard\":0.5}\n"
                      "{\"id_a\":\"a\",\"id_b\":\"b\",\"jaccard\":null}\n");
}

Test(result_tables, a_cut_has_six_decimals_or_all_digits)
{
    bm_buf out = {0};
    bm_cut_line cut = {.id = world_str("r"),
                       .kept = world_str("k"),
                       .from = 3,
                       .to = 9,
                       .kept_from = 0,
                       .jaccard = 2.0 / 3,
                       .reason = "near",
                       .file = "-",
                       .line = 7};
    cr_assert_eq(bm_cut_line_add(&out, &cut, NULL), BM_OK);
    cut.all_digits = true;
    cr_assert_eq(bm_cut_line_add(&out, &cut, NULL), BM_OK);
    expect_text(&out, "r\t3\t9\tk\t0\t0.666667\tnear\t-\t7\n"
                      "r\t3\t9\tk\t0\t0.66666666666666662966\tnear\t-\t7\n");
}

Test(result_tables, all_digits_are_read_back_as_the_double_and_as_the_nearest_millionth)
{
    static const double rows[] = {2.0 / 3, 1.0, 0.0, 0.9999995, 0.9999996, 1.0 / 997, 0.8};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bm_buf out = {0};
        const bm_removed_line removed = {.id = world_str("r"),
                                         .kept = world_str("k"),
                                         .jaccard = rows[i],
                                         .reason = "near",
                                         .file = "-",
                                         .lost = UINT64_MAX,
                                         .all_digits = true};
        const bm_pair_line pair = {.id_a = world_str("r"),
                                   .id_b = world_str("k"),
                                   .measure = BM_MEASURE_JACCARD,
                                   .similarity = rows[i],
                                   .all_digits = true};
        cr_assert_eq(bm_removed_line_add(&out, &removed, NULL), BM_OK);
        cr_assert_eq(bm_pair_line_add(&out, &pair, NULL), BM_OK);
        cr_assert_eq(bm_buf_add(&out, "", 1, NULL), BM_OK);
        for (const char *at = strstr(out.data, "k\t"); at != NULL; at = strstr(at, "k\t")) {
            at += 2;
            cr_expect(strtod(at, NULL) == rows[i], "%s", at);
            uint32_t millionths;
            cr_assert(bm_table_jaccard((bm_str){at, strcspn(at, "\t\n")}, &millionths), "%s", at);
            cr_expect_eq(millionths, (uint32_t)rint(rows[i] * 1e6), "%u of %s", millionths, at);
        }
        bm_buf_reset(&out);
    }
    uint32_t millionths;
    cr_expect_not(bm_table_jaccard(world_str("0.6666666"), &millionths));
}
