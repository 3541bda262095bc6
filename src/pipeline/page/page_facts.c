/* page_facts.c -- see the header.
 *
 * Tests: tests/cli/cases/report.sh, tests/reference/test_report.py */
#include "pipeline/page/page_facts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/json/json_read.h"
#include "io/json/json_scan.h"
#include "io/results/result_tables.h"
#include "io/results/source_table.h"
#include "model/file_names.h"
#include "model/option_names.h"
#include "pipeline/output/report_counts.h"

/* One number or word of the report after another: the first that is not there decides. */
typedef struct fact_reader {
    const bm_manifest *manifest;
    const bm_json_doc *doc;
    bm_status status;
    bm_error *err;
} fact_reader;

static unsigned read_word(fact_reader *r, bm_option option)
{
    bm_str word;
    char path[64];
    unsigned value = 0;
    if (r->status != BM_OK)
        return value;
    snprintf(path, sizeof path, "parameters.%s", bm_option_field(option));
    r->status = bm_json_doc_string(r->doc, path, &word, r->err);
    if (r->status == BM_OK && !bm_option_value(option, word.data, word.len, &value))
        r->status = bm_fail_at(r->err, BM_ERR_FORMAT, bm_manifest_path(r->manifest), 0,
                               "%s is not known to this version", path);
    return value;
}

static double read_double(fact_reader *r, const char *path)
{
    double value = NAN;
    if (r->status == BM_OK)
        r->status = bm_json_doc_double(r->doc, path, &value, r->err);
    return value;
}

static uint32_t read_small(fact_reader *r, const char *path)
{
    uint64_t value = 0;
    if (r->status == BM_OK)
        r->status = bm_json_doc_uint(r->doc, path, &value, r->err);
    if (r->status == BM_OK && value > BM_PERMS_MAX)
        r->status = bm_fail_at(r->err, BM_ERR_FORMAT, bm_manifest_path(r->manifest), 0,
                               "%s is %" PRIu64, path, value);
    return r->status == BM_OK ? (uint32_t)value : 0;
}

static void read_plan(fact_reader *r, bm_page_facts *facts)
{
    bm_str plan, bands;
    facts->predicted_recall = NAN;
    if (r->status != BM_OK || !bm_manifest_member(r->manifest, "plan", &plan) ||
        !bm_json_scan_find(plan, "bands", &bands))
        return;
    facts->bands = read_small(r, "plan.bands");
    facts->rows = read_small(r, "plan.rows");
    facts->perms = read_small(r, "provenance.perms");
    facts->predicted_recall = read_double(r, "plan.predicted_recall");
}

static bool member(const bm_manifest *manifest, const char *name, bm_str *out)
{
    *out = (bm_str){"{}", 2};
    return bm_manifest_member(manifest, name, out);
}

static bm_status read_parameters(bm_page_content *content, const bm_json_doc *doc, bm_error *err)
{
    bm_page_facts *facts = &content->facts;
    bm_str found;
    fact_reader r = {content->manifest, doc, BM_OK, err};
    member(content->manifest, "run", &facts->run);
    member(content->manifest, "provenance", &facts->provenance);
    member(content->manifest, "parameters", &facts->parameters);
    facts->against =
        bm_json_scan_find(facts->parameters, "against", &found) && !bm_json_scan_is(found, "null");
    facts->verify = (bm_verify)read_word(&r, BM_OPTION_VERIFY);
    facts->cluster = (bm_cluster)read_word(&r, BM_OPTION_CLUSTER);
    facts->keep = (bm_keep)read_word(&r, BM_OPTION_KEEP);
    facts->threshold = read_double(&r, "parameters.threshold");
    facts->seconds = read_double(&r, "run.seconds");
    if (r.status == BM_OK && !(facts->threshold > 0 && facts->threshold <= 1))
        r.status =
            bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(content->manifest), 0,
                       "parameters.threshold is %g (more than 0, at most 1)", facts->threshold);
    read_plan(&r, facts);
    return r.status;
}

static bm_status read_sizes(bm_page_content *content, bm_error *err)
{
    bm_page_facts *facts = &content->facts;
    bm_str sizes, row, size, groups;
    size_t at = 0;
    bm_status status = BM_OK;
    if (!bm_manifest_member(content->manifest, "group_sizes", &sizes))
        return BM_OK;
    while (status == BM_OK && bm_json_scan_element(sizes, &at, &row)) {
        bm_page_size one = {0};
        if (!bm_json_scan_find(row, "size", &size) || !bm_json_scan_uint(size, &one.size) ||
            !bm_json_scan_find(row, "groups", &groups) || !bm_json_scan_uint(groups, &one.groups))
            return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(content->manifest), 0,
                              "group_sizes is no list of sizes and groups");
        status = bm_grow_array(&facts->sizes, &facts->cap_sizes, facts->n_sizes + 1, err);
        if (status == BM_OK)
            facts->sizes[facts->n_sizes++] = one;
    }
    return status;
}

static bm_status read_sources(bm_page_content *content, bm_error *err)
{
    const size_t n = bm_manifest_n_inputs(content->manifest);
    uint64_t *rows = bm_alloc(3 * n + 1, sizeof *rows);
    content->sources = bm_alloc_zero(n, sizeof *content->sources);
    if (content->sources == NULL || rows == NULL) {
        bm_free(rows);
        return bm_fail_nomem(err, n * sizeof *content->sources);
    }
    bm_source_column columns[] = {{.field = BM_SOURCES_DOCUMENTS, .rows = rows},
                                  {.field = BM_SOURCES_SKIPPED, .rows = rows + n},
                                  {.field = BM_SOURCES_REMOVED, .rows = rows + 2 * n}};
    const bm_status status = bm_source_table_read(content->manifest, columns, 3, err);
    for (size_t i = 0; status == BM_OK && i < n; i++) {
        content->sources[i].documents = rows[i];
        content->sources[i].skipped = rows[n + i];
        content->sources[i].removed = rows[2 * n + i];
    }
    bm_free(rows);
    return status;
}

bm_status bm_page_read_facts(bm_page_content *content, bm_error *err)
{
    bm_json_doc *doc = NULL;
    const char *path = bm_manifest_path(content->manifest);
    if (strcmp(bm_manifest_kind(content->manifest), "dedup") != 0)
        return bm_fail_at(err, BM_ERR_FORMAT, path, 0,
                          "it holds '%s' (a directory that dedup wrote)",
                          bm_manifest_kind(content->manifest));
    bm_status status = bm_json_doc_open(path, &doc, err);
    if (status == BM_OK)
        status = read_parameters(content, doc, err);
    bm_json_doc_close(doc);
    if (status == BM_OK)
        status = bm_report_read_counts(content->manifest, &content->facts.counts, err);
    content->facts.has_pairs = bm_manifest_output(content->manifest, BM_FILE_PAIRS) != NULL;
    if (status == BM_OK)
        status = read_sizes(content, err);
    return status == BM_OK ? read_sources(content, err) : status;
}
