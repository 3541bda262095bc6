/* SPDX-License-Identifier: Apache-2.0 */
/* result_dir.c -- a loop a kind of file, which opens it, compares it with the report and closes it.
 */
#include "results/result_dir.h"

#include <math.h>
#include <stdio.h>
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

bm_status bm_result_check_documents(const bm_manifest *manifest, const char *path, bm_error *err)
{
    BM_TRY(bm_result_check_kind(manifest, path, err));
    return !bm_result_is_of_units(manifest)
               ? BM_OK
               : bm_fail_field(
                     err, "path",
                     "%s holds groups of parts of documents (`dedup` without `unit` groups "
                     "documents; " BM_FILE_CUTS " says which parts were cut)",
                     path);
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

void bm_result_facts_begin(bm_result_facts *f, const bm_manifest *manifest, bm_error *err)
{
    *f = (bm_result_facts){.manifest = manifest, .doc = bm_manifest_doc(manifest), .err = err};
}

bm_status bm_result_facts_end(bm_result_facts *f)
{
    return f->status;
}

void bm_result_facts_unknown(bm_result_facts *f, const char *field)
{
    if (f->status == BM_OK)
        f->status = bm_fail_at(f->err, BM_ERR_FORMAT, f->doc->path, 0,
                               "%s is not known to this version", field);
}

unsigned bm_result_facts_word(bm_result_facts *f, bm_option option)
{
    bm_buf word = {0};
    char path[64];
    unsigned value = 0;
    snprintf(path, sizeof path, "parameters.%s", bm_option_field(option));
    if (f->status == BM_OK)
        f->status = bm_json_doc_string(f->doc, path, &word, f->err);
    if (f->status == BM_OK && !bm_option_value(option, word.data, word.len, &value))
        bm_result_facts_unknown(f, path);
    bm_buf_reset(&word);
    return value;
}

double bm_result_facts_double(bm_result_facts *f, const char *path)
{
    double value = NAN;
    if (f->status == BM_OK)
        f->status = bm_json_doc_double(f->doc, path, &value, f->err);
    return value;
}

uint64_t bm_result_facts_uint(bm_result_facts *f, const char *path)
{
    uint64_t value = 0;
    if (f->status == BM_OK)
        f->status = bm_json_doc_uint(f->doc, path, &value, f->err);
    return value;
}

double bm_result_facts_threshold(bm_result_facts *f)
{
    const double threshold = bm_result_facts_double(f, "parameters.threshold");
    if (f->status == BM_OK && !(threshold > 0 && threshold <= 1))
        f->status = bm_fail_at(f->err, BM_ERR_FORMAT, f->doc->path, 0,
                               "parameters.threshold is %g (more than 0, at most 1)", threshold);
    return threshold;
}

bool bm_result_is_against(const bm_manifest *manifest)
{
    bm_str against;
    return bm_manifest_member(manifest, "parameters.against", &against) &&
           !bm_json_scan_is(against, "null");
}

/* --- its tables --- */

/* A file of the directory, and its expected digest. */
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

/* A share of six decimals; NAN: it is empty. */
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
