/* SPDX-License-Identifier: Apache-2.0 */
/* result_dir.c -- for each kind of file, a function that opens it, passes on its rows, compares it
 * with the report and closes it. */
#include "results/result_dir.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/file_names.h"

bm_status bm_result_check_kind(const bm_manifest *manifest, const char *path, bm_error *err)
{
    const char *kind = bm_manifest_kind(manifest);
    return strcmp(kind, "dedup") == 0
               ? BM_OK
               : bm_fail_at(err, BM_ERR_FORMAT, path, 0,
                            "it holds '%s' (a directory that dedup wrote)", kind);
}

bool bm_result_is_of_units(const bm_manifest *manifest)
{
    bm_str unit;
    return bm_manifest_member(manifest, "parameters.unit", &unit) && !bm_json_scan_is(unit, "null");
}

bool bm_result_is_overlap(const bm_manifest *manifest)
{
    return strcmp(bm_manifest_kind(manifest), "overlap") == 0;
}

bm_status bm_result_fail(const bm_result_dir *dir, const char *name, uint64_t line,
                         const char *what, bm_error *err)
{
    char *path = NULL;
    BM_TRY(bm_manifest_beside(dir->manifest, name, &path, err));
    const bm_status status = bm_fail_at(err, BM_ERR_FORMAT, path, line, "%s", what);
    bm_free(path);
    return status;
}

/* --- report.json --- */

typedef struct fact {
    unsigned bit; /* the fact, a bm_result_fact */
    bm_json_row row;
    /* if the value is a word: its option; the value of the word is stored as an unsigned */
    bm_option option;
} fact;

#define WORD(bit, member, option)                                                                  \
    {                                                                                              \
        bit,                                                                                       \
            {"parameters." #member, BM_MEMBER_STRING,                                              \
             .offset = offsetof(bm_result_facts, member)},                                         \
            option                                                                                 \
    }
#define NUMBER(bit, object, member, type)                                                          \
    {                                                                                              \
        bit, {object "." #member, type, .offset = offsetof(bm_result_facts, member)}, (bm_option)0 \
    }

static const fact facts[] = {NUMBER(BM_FACT_THRESHOLD, "parameters", threshold, BM_MEMBER_DOUBLE),
                             WORD(BM_FACT_VERIFY, verify, BM_OPTION_VERIFY),
                             WORD(BM_FACT_CLUSTER, cluster, BM_OPTION_CLUSTER),
                             WORD(BM_FACT_CANDIDATES, candidates, BM_OPTION_CANDIDATES),
                             WORD(BM_FACT_KEEP, keep, BM_OPTION_KEEP),
                             NUMBER(BM_FACT_SECONDS, "run", seconds, BM_MEMBER_DOUBLE),
                             NUMBER(BM_FACT_PLAN, "plan", bands, BM_MEMBER_UINT),
                             NUMBER(BM_FACT_PLAN, "plan", rows, BM_MEMBER_UINT),
                             NUMBER(BM_FACT_PERMS, "provenance", perms, BM_MEMBER_UINT),
                             NUMBER(BM_FACT_RECALL, "plan", predicted_recall, BM_MEMBER_DOUBLE)};

#undef WORD
#undef NUMBER

bm_status bm_result_fact_unknown(const bm_manifest *manifest, const char *field, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(manifest), 0,
                      "%s is not known to this version", field);
}

static bm_status fact_bad(void *manifest, const bm_json_row *row, bm_str value,
                          const char *expected, bm_error *err)
{
    const char *path = bm_manifest_path(manifest);
    (void)expected;
    if (row->type == BM_MEMBER_STRING)
        return bm_fail_at(err, BM_ERR_FORMAT, path, 0, "no string in field '%s'", row->name);
    if (value.len == 0 || (value.data[0] != '-' && (value.data[0] < '0' || value.data[0] > '9')))
        return bm_fail_at(err, BM_ERR_FORMAT, path, 0, "no number in field '%s'", row->name);
    return bm_fail_at(err, BM_ERR_FORMAT, path, 0,
                      row->type == BM_MEMBER_UINT ? "field '%s' is no whole number from 0 to 2^64-1"
                                                  : "field '%s' is out of range",
                      row->name);
}

/* Set a member of *out to the value that the word of an option means. For the option keep, which
 * may be a list of rules, out->keep_is_list becomes whether the word is not a value. */
static bm_status read_word(const bm_json_reader *from, const fact *f, bm_result_facts *out,
                           bm_error *err)
{
    bm_json_row row = f->row;
    bm_str quoted;
    bm_buf word = {0};
    bm_status status = BM_OK;
    unsigned *value = (unsigned *)(void *)((char *)out + row.offset);
    row.offset = 0;
    BM_TRY(bm_json_read(from, &row, 1, &quoted, err));
    BM_TRY_OUT(bm_json_scan_string(quoted, &word, err));
    BM_TRY_OUT(bm_buf_end(&word, err));
    const bool known = bm_option_value(f->option, word.data, word.len, value);
    if (f->option == BM_OPTION_KEEP)
        out->keep_is_list = !known;
    else if (!known)
        status = bm_result_fact_unknown(from->context, row.name, err);
out:
    bm_buf_reset(&word);
    return status;
}

bm_status bm_result_facts_read(const bm_manifest *manifest, unsigned wanted, bm_result_facts *out,
                               bm_error *err)
{
    const bm_json_reader from = {
        .doc = bm_manifest_doc(manifest), .context = (void *)(uintptr_t)manifest, .bad = fact_bad};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        if ((facts[i].bit & wanted) == 0)
            continue;
        BM_TRY(facts[i].row.type == BM_MEMBER_STRING
                   ? read_word(&from, &facts[i], out, err)
                   : bm_json_read(&from, &facts[i].row, 1, out, err));
        if (facts[i].bit == BM_FACT_THRESHOLD && !(out->threshold > 0 && out->threshold <= 1))
            return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(manifest), 0,
                              "parameters.threshold is %g (more than 0, at most 1)",
                              out->threshold);
    }
    return BM_OK;
}

bool bm_result_is_against(const bm_manifest *manifest)
{
    bm_str against;
    return bm_manifest_member(manifest, "parameters.against", &against) &&
           !bm_json_scan_is(against, "null");
}

/* --- the tables of the directory --- */

/* A file in the directory, and its expected digest. */
typedef struct beside {
    char *path;
    bm_listed *listed;
} beside;

static bm_status find_beside(const bm_result_dir *dir, const char *name, beside *out, bm_error *err)
{
    *out = (beside){0};
    BM_TRY(bm_manifest_beside(dir->manifest, name, &out->path, err));
    return bm_listed_open(dir->manifest, name, out->path, &out->listed, err);
}

static void forget_beside(beside *file)
{
    bm_listed_close(file->listed);
    bm_free(file->path);
}

bm_status bm_result_groups(const bm_result_dir *dir, bm_result_group_fn fn, void *ctx,
                           bm_error *err)
{
    beside at;
    bm_group_file file = {.lines.fd = -1};
    bool more = true, stop = false;
    bm_status status = BM_OK;
    BM_TRY_OUT(find_beside(dir, BM_FILE_GROUPS, &at, err));
    BM_TRY_OUT(bm_group_file_open(at.path, dir->memory, &file, err));
    file.lines.callbacks = dir->callbacks;
    BM_TRY_OUT(bm_line_file_compare(&file.lines, at.listed, err));
    while (more && !stop) {
        BM_TRY_OUT(bm_group_file_next(&file, &more, err));
        if (more)
            BM_TRY_OUT(fn(ctx, &file, &stop, err));
    }
out:
    bm_group_file_close(&file);
    forget_beside(&at);
    return status;
}

bm_status bm_result_pairs(const bm_result_dir *dir, bm_pair_row_fn fn, void *ctx, bm_error *err)
{
    beside at;
    bm_pair_file file;
    bm_status status = BM_OK;
    BM_TRY_OUT(find_beside(dir, BM_FILE_PAIRS, &at, err));
    BM_TRY_OUT(bm_pair_file_open(at.path, BM_ERR_FORMAT, dir->callbacks, &file, err));
    status = bm_pair_file_each(&file, at.listed, fn, ctx, err);
    bm_pair_file_close(&file);
out:
    forget_beside(&at);
    return status;
}

bm_status bm_result_rows(const bm_result_dir *dir, bm_table table, bm_result_row_fn fn, void *ctx,
                         bm_error *err)
{
    bm_tsv_table file;
    bool end = false;
    bm_status status = BM_OK;
    BM_TRY(bm_tsv_table_open_listed(dir->manifest, table, &file, err));
    file.lines.callbacks = dir->callbacks;
    BM_TRY_OUT(bm_tsv_table_next(&file, &end, err));
    while (!end) {
        BM_TRY_OUT(fn(ctx, &file, err));
        BM_TRY_OUT(bm_tsv_table_next(&file, &end, err));
    }
out:
    bm_tsv_table_close(&file);
    return status;
}

/* --- rows of overlap --- */

/* Read a share with six decimals; an empty field is NAN. */
static bm_status read_share(const bm_tsv_table *row, size_t field, double *out, bm_error *err)
{
    return bm_table_similarity(row->fields[field], out)
               ? BM_OK
               : bm_fail_at(err, BM_ERR_FORMAT, row->path, row->line,
                            "a coverage is not a number of six decimals");
}

bm_status bm_result_overlap_row(const bm_tsv_table *row, bm_overlap_line *out, bm_str *file,
                                bm_error *err)
{
    *out =
        (bm_overlap_line){.id = row->fields[BM_OVERLAP_ID], .item = row->fields[BM_OVERLAP_ITEM]};
    *file = row->fields[BM_OVERLAP_FILE];
    BM_TRY(read_share(row, BM_OVERLAP_COVERAGE, &out->coverage, err));
    BM_TRY(bm_tsv_table_uint(row, BM_OVERLAP_HITS, &out->hits, err));
    BM_TRY(bm_tsv_table_uint(row, BM_OVERLAP_LONGEST, &out->longest, err));
    BM_TRY(bm_tsv_table_uint(row, BM_OVERLAP_FROM, &out->from, err));
    BM_TRY(bm_tsv_table_uint(row, BM_OVERLAP_TO, &out->to, err));
    BM_TRY(bm_tsv_table_uint(row, BM_OVERLAP_LINE, &out->line, err));
    return out->from <= out->to ? BM_OK
                                : bm_fail_at(err, BM_ERR_FORMAT, row->path, row->line,
                                             "the run ends before it begins");
}

bm_status bm_result_item_row(const bm_tsv_table *row, bm_item_line *out, bm_str *file,
                             bm_error *err)
{
    *out = (bm_item_line){.item = row->fields[BM_ITEMS_ITEM]};
    *file = row->fields[BM_ITEMS_FILE];
    BM_TRY(bm_tsv_table_uint(row, BM_ITEMS_SHINGLES, &out->shingles, err));
    BM_TRY(bm_tsv_table_uint(row, BM_ITEMS_DOCUMENTS, &out->documents, err));
    BM_TRY(read_share(row, BM_ITEMS_COVERAGE, &out->coverage, err));
    BM_TRY(read_share(row, BM_ITEMS_TOGETHER, &out->together, err));
    return bm_tsv_table_uint(row, BM_ITEMS_LINE, &out->line, err);
}
