/* SPDX-License-Identifier: Apache-2.0 */
/* test_result_dir.c -- a directory written by hand after docs/formats.md: rows are read one by one;
 * a file that differs from the report's list is refused when it is read to its end; the parameters
 * in the report are read, or a bad one is named. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "results/result_dir.h"
#include "results/listed_order.h"
#include "tests/unit/results/folder.h"
#include "tests/world/world_text.h"

#define SOURCES "file\tfirst_row\tdocuments\tskipped\tremoved\tkept\n"
#define REMOVED "id\tkept\tjaccard\treason\tfile\tline\n"

static const char *const good[4] = {
    "{\"group\":1,\"kept\":\"a\",\"size\":2,\"members\":[\"a\",\"b\"]}\n"
    "{\"group\":2,\"kept\":\"k\",\"size\":1,\"members\":[\"c\"],\"known\":[\"k\"]}\n",
    "id_a\tid_b\tjaccard\na\tb\t0.750000\n",
    REMOVED "b\ta\t0.750000\tnear\tin\t2\n"
            "c\tk\t\tknown\tin\t1\n",
    SOURCES "in\t0\t2\t0\t1\t1\nin\t2\t1\t0\t1\t0\n"};

static void note(folder *f, bm_str text)
{
    const size_t n = strlen(f->rows);
    snprintf(f->rows + n, sizeof f->rows - n, "%.*s ", (int)text.len, text.data);
}

static bm_status see_member(void *ctx, const bm_group_file *file, bm_str id, bm_error *err)
{
    (void)file;
    (void)err;
    note(ctx, id);
    return BM_OK;
}

static bm_status see_group(void *ctx, bm_group_file *row, bool *stop, bm_error *err)
{
    folder *f = ctx;
    bm_str kept;
    *stop = f->rows[0] == 'x'; /* stops where the test asks for it */
    BM_TRY(bm_group_file_members(row, see_member, f, &kept, err));
    note(f, (bm_str){row->known ? "known" : "kept", row->known ? 5 : 4});
    note(f, kept);
    return BM_OK;
}

static bm_status see_pair(void *ctx, const bm_pair_file *row, bm_error *err)
{
    (void)err;
    cr_expect_float_eq(row->similarity, .75, 1e-12);
    note(ctx, row->id_a);
    note(ctx, row->id_b);
    return BM_OK;
}

static bm_status see_removed(void *ctx, const bm_tsv_table *row, bm_error *err)
{
    (void)err;
    note(ctx, row->fields[BM_REMOVED_ID]);
    note(ctx, row->fields[BM_REMOVED_KEPT]);
    note(ctx, row->fields[BM_REMOVED_REASON]);
    return BM_OK;
}

Test(result_dir, rows_of_all_tables_come_one_after_another)
{
    folder f;
    uint64_t documents[2], removed[2];
    open_folder(&f, good, "");
    cr_expect_eq(bm_result_groups(&f.dir, see_group, &f, &f.err), BM_OK, "%s", f.err.message);
    cr_expect_str_eq(f.rows, "a b kept a c known k ");
    f.rows[0] = '\0';
    cr_expect_eq(bm_result_pairs(&f.dir, see_pair, &f, &f.err), BM_OK, "%s", f.err.message);
    cr_expect_str_eq(f.rows, "a b ");
    f.rows[0] = '\0';
    cr_expect_eq(bm_result_rows(&f.dir, BM_TABLE_REMOVED, see_removed, &f, &f.err), BM_OK);
    cr_expect_str_eq(f.rows, "b a near c k known ");
    bm_source_column columns[] = {{.field = BM_SOURCES_DOCUMENTS, .rows = documents},
                                  {.field = BM_SOURCES_REMOVED, .rows = removed}};
    cr_expect_eq(bm_source_table_read(f.manifest, columns, 2, &f.err), BM_OK);
    cr_expect(documents[0] == 2 && documents[1] == 1 && columns[0].sum == 3);
    cr_expect(removed[0] == 1 && removed[1] == 1 && columns[1].sum == 2);
    close_folder(&f);
}

Test(result_dir, a_row_function_ends_the_walk)
{
    folder f;
    open_folder(&f, good, "");
    strcpy(f.rows, "x ");
    scratch_put_text(&f.s, "groups.jsonl",
                     "{\"group\":1,\"kept\":\"a\",\"size\":1,\"members\":[\"a\"]}\n\n");
    /* a walk that stops early compares no digests */
    cr_expect_eq(bm_result_groups(&f.dir, see_group, &f, &f.err), BM_OK);
    cr_expect_str_eq(f.rows, "x a kept a ");
    close_folder(&f);
}

Test(result_dir, another_file_than_the_report_lists_is_refused_at_its_end)
{
    static const char *const others[4] = {
        "{\"group\":1,\"kept\":\"a\",\"size\":2,\"members\":[\"a\",\"z\"]}\n",
        "id_a\tid_b\tjaccard\na\tz\t0.750000\n", REMOVED "z\ta\t0.750000\tnear\tin\t2\n",
        SOURCES "in\t0\t2\t0\t1\t1\nin\t2\t9\t0\t1\t0\n"};
    folder f;
    uint64_t rows[2];
    bm_source_column column = {.field = BM_SOURCES_DOCUMENTS, .rows = rows};
    open_folder(&f, good, "");
    for (size_t i = 0; i < 4; i++) {
        scratch_put_text(&f.s, folder_files[i], others[i]);
        f.err = (bm_error){0};
        f.rows[0] = '\0';
        const bm_status status =
            i == 0   ? bm_result_groups(&f.dir, see_group, &f, &f.err)
            : i == 1 ? bm_result_pairs(&f.dir, see_pair, &f, &f.err)
            : i == 2 ? bm_result_rows(&f.dir, BM_TABLE_REMOVED, see_removed, &f, &f.err)
                     : bm_source_table_read(f.manifest, &column, 1, &f.err);
        cr_expect_eq(status, BM_ERR_FORMAT, "%s", folder_files[i]);
        cr_expect_str_eq(f.err.file, scratch_at(&f.s, folder_files[i]));
        /* the rows were passed on before the check at the end */
        cr_expect_eq(f.rows[0] != '\0', i < 3, "%s", folder_files[i]);
    }
    close_folder(&f);
}

Test(result_dir, a_file_that_is_missing_or_not_listed_is_named)
{
    folder f;
    open_folder(&f, good, "");
    cr_assert_eq(remove(scratch_at(&f.s, "groups.jsonl")), 0);
    cr_expect_eq(bm_result_groups(&f.dir, see_group, &f, &f.err), BM_ERR_FORMAT);
    cr_expect_str_eq(f.err.file, scratch_at(&f.s, "groups.jsonl"));
    cr_expect_eq(bm_result_rows(&f.dir, BM_TABLE_SKIPPED, see_removed, &f, &f.err), BM_ERR_FORMAT);
    cr_expect_str_eq(f.err.file, scratch_at(&f.s, "report.json"));
    cr_expect_str_eq(f.err.message, "it lists no skipped.tsv among its outputs");
    close_folder(&f);
}

Test(result_dir, the_rows_of_an_input_are_as_many_as_sources_counts)
{
    static const struct {
        const char *files[4];
        size_t input[3], n_good; /* input: the input of each good row */
    } cases[] = {
        {{"in", "in"}, {0, 1}, 2}, {{"in", "on"}, {0}, 1}, {{"in", "in", "in"}, {0, 1}, 2}};
    folder f;
    open_folder(&f, good, "");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bm_source_walk walk;
        uint64_t sum;
        cr_assert_eq(bm_source_walk_open(f.manifest, &walk, NULL), BM_OK);
        cr_assert_eq(bm_source_walk_begin(&walk, BM_SOURCES_REMOVED, &sum, NULL), BM_OK);
        cr_expect_eq(sum, 2u);
        for (size_t k = 0; cases[i].files[k] != NULL; k++) {
            bm_tsv_table row = {.path = "removed.tsv", .line = k + 2};
            row.fields[BM_REMOVED_FILE] = world_str(cases[i].files[k]);
            const bm_status status = bm_source_walk_row(&walk, &row, BM_REMOVED_FILE, &f.err);
            cr_expect_eq(status, k < cases[i].n_good ? BM_OK : BM_ERR_FORMAT, "%zu %zu", i, k);
            if (k < cases[i].n_good)
                cr_expect_eq(walk.file, cases[i].input[k]);
            else
                cr_expect_eq(f.err.line, k + 2);
        }
        bm_source_walk_close(&walk);
    }
    close_folder(&f);
}

Test(result_dir, what_the_report_says_is_read_and_the_first_that_is_wrong_is_named)
{
    static const struct {
        const char *parameters, *message; /* NULL: good */
    } cases[] = {{"\"threshold\":0.8,\"cluster\":\"star\",\"keep\":\"longest\"", NULL},
                 {"\"threshold\":1.5,\"cluster\":\"stars\"",
                  "parameters.threshold is 1.5 (more than 0, at most 1)"},
                 {"\"threshold\":0,\"cluster\":\"star\"",
                  "parameters.threshold is 0 (more than 0, at most 1)"},
                 {"\"threshold\":0.8,\"cluster\":\"stars\"",
                  "parameters.cluster is not known to this version"},
                 {"\"threshold\":0.8,\"cluster\":7", "parameters.cluster"},
                 {"\"cluster\":\"star\"", "parameters.threshold"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        folder f;
        bm_result_facts facts;
        open_folder(&f, good, cases[i].parameters);
        const bm_status status = bm_result_facts_read(
            f.manifest, BM_FACT_THRESHOLD | BM_FACT_CLUSTER | BM_FACT_KEEP, &facts, &f.err);
        if (cases[i].message == NULL) {
            cr_expect_eq(status, BM_OK, "%s", f.err.message);
            cr_expect(facts.threshold > .7999 && facts.threshold < .8001);
            cr_expect(facts.cluster == BM_CLUSTER_STAR && facts.keep == BM_KEEP_LONGEST);
        } else {
            cr_expect_eq(status, BM_ERR_FORMAT, "%zu", i);
            cr_expect(strstr(f.err.message, cases[i].message) != NULL, "%s", f.err.message);
            cr_expect_str_eq(f.err.file, scratch_at(&f.s, "report.json"));
        }
        close_folder(&f);
    }
}

Test(result_dir, documents_were_compared_with_known_ones_where_the_report_names_them)
{
    static const char *const parameters[] = {"", "\"against\":null", "\"against\":[\"dir\"]"};
    for (size_t i = 0; i < 3; i++) {
        folder f;
        open_folder(&f, good, parameters[i]);
        cr_expect_eq(bm_result_is_against(f.manifest), i == 2);
        cr_expect_eq(bm_result_check_kind(f.manifest, "d", &f.err), BM_OK);
        close_folder(&f);
    }
}
