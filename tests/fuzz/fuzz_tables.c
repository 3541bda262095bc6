/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tables.c -- arbitrary bytes as a table that bandmill writes. The first byte chooses: pairs,
 * groups, a TSV table, groups and removed together, pairs to cluster.
 *
 * A readable table is written again and reads the same; an error names the file. Clusters equal
 * those of a plain model. */
#include "results/pair_file.c"

#include "results/line_file.c"

#include <math.h>

#include <bandmill/cluster.h>
#include <bandmill/job.h>

#include "fuzz_folder.h"
#include "results/result_tables.h"
#include "jobs/group_labels.h"
#include "tests/world/file_digests.h"

static void check_error(bm_status status, const bm_error *err, const char *path)
{
    CHECK(status == BM_ERR_FORMAT || status == BM_ERR_NOMEM || status == BM_ERR_INPUT);
    CHECK(err->status == status && err->message[0] != '\0');
    CHECK(status == BM_ERR_NOMEM || strcmp(err->file, path) == 0);
}

/* Writes the table again to *out; returns whether all of it could be read. */
typedef bool rewrite_fn(const char *path, bm_buf *out);

/* A table that was rewritten must rewrite to itself. */
static void check_fixed(const char *path, rewrite_fn *rewrite)
{
    char again[FUZZ_PATH];
    bm_buf once = {0}, twice = {0};
    if (rewrite(path, &once)) {
        fuzz_write(fuzz_path("again", again), once.data, once.len);
        CHECK(rewrite(again, &twice));
        CHECK(fuzz_same(once.data, once.len, twice.data, twice.len));
    }
    bm_buf_reset(&once);
    bm_buf_reset(&twice);
}

/* --- pairs --- */

static bool rewrite_pairs(const char *path, bm_buf *out)
{
    bm_pair_file file;
    bm_error err = {0};
    bool more = true;
    uint64_t line = 1;
    bm_status status = bm_pair_file_open(path, BM_ERR_FORMAT, NULL, &file, &err);
    if (status != BM_OK) {
        check_error(status, &err, path);
        return false;
    }
    CHECK(bm_table_begin(out, BM_TABLE_PAIRS, NULL) == BM_OK);
    while ((status = next_pair(&file, &more, &err)) == BM_OK && more) {
        CHECK(file.lines.number == ++line);
        CHECK(isnan(file.similarity) || (file.similarity >= 0 && file.similarity <= 1));
        const bm_pair_line row = {.id_a = file.id_a,
                                  .id_b = file.id_b,
                                  .measure = BM_MEASURE_JACCARD,
                                  .similarity = file.similarity};
        CHECK(bm_pair_line_add(out, &row, NULL) == BM_OK);
    }
    if (status != BM_OK) {
        check_error(status, &err, path);
        CHECK(err.line == line + 1);
    }
    bm_pair_file_close(&file);
    return status == BM_OK;
}

/* --- groups --- */

static bm_status rewrite_members(bm_group_file *file, bm_json *json, bm_error *err)
{
    bm_str id;
    bool more = true;
    bm_status status = bm_group_file_kept(file, &id, err);
    if (status == BM_OK)
        bm_group_line_begin(json, file->group, id, file->size);
    for (uint64_t n = 0; status == BM_OK && more;) {
        status = next_member(file, &id, &more, err);
        if (status == BM_OK && more) {
            CHECK(++n <= file->size);
            bm_json_string(json, id);
        }
    }
    return status;
}

static bool rewrite_groups(const char *path, bm_buf *out)
{
    bm_group_file file;
    bm_error err = {0};
    bm_json json = {0};
    bool more = true;
    uint64_t group = 0;
    bm_status status = bm_group_file_open(path, 4096, &file, &err);
    CHECK(status == BM_OK);
    while ((status = bm_group_file_next(&file, &more, &err)) == BM_OK && more) {
        CHECK(file.group == ++group);
        status = rewrite_members(&file, &json, &err);
        if (status != BM_OK)
            break;
        CHECK(bm_group_line_end(&json, out, NULL) == BM_OK);
    }
    if (status != BM_OK)
        check_error(status, &err, path);
    bm_buf_reset(&json.buf);
    bm_group_file_close(&file);
    return status == BM_OK;
}

/* --- tables of TSV --- */

static bool rewrite_table(const char *path, bm_buf *out)
{
    static const bm_table kinds[] = {BM_TABLE_REMOVED, BM_TABLE_SOURCES, BM_TABLE_SKIPPED};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        bm_tsv_table table;
        bm_error err = {0};
        bool end = false;
        bm_status status = open_table(path, bm_table_head_of(kinds[i]), &table, &err);
        if (status != BM_OK) {
            check_error(status, &err, path);
            continue;
        }
        CHECK(bm_table_begin(out, kinds[i], NULL) == BM_OK);
        size_t n_columns = 1;
        for (const char *c = bm_table_header(kinds[i]); *c != '\0'; c++)
            n_columns += *c == '\t';
        while ((status = bm_tsv_table_next(&table, &end, &err)) == BM_OK && !end)
            for (size_t f = 0; f < n_columns; f++) { /* a column that the file lacks is empty */
                uint64_t number;
                if (bm_tsv_table_uint(&table, f, &number, NULL) == BM_OK)
                    CHECK(table.fields[f].len < 20);
                CHECK(bm_tsv_escape(out, table.fields[f], NULL) == BM_OK);
                CHECK(bm_buf_add(out, f + 1 < n_columns ? "\t" : "\n", 1, NULL) == BM_OK);
            }
        if (status != BM_OK)
            check_error(status, &err, path);
        bm_tsv_table_close(&table);
        return status == BM_OK;
    }
    return false;
}

/* --- groups and removed --- */

/* A report that lists the two files unchanged and states this number of groups. */
static bm_manifest *list_files(const char *groups, const char *removed, size_t n_groups)
{
    char path[FUZZ_PATH], text[512];
    bm_digests g, r;
    bm_manifest *manifest = NULL;
    CHECK(file_digests(groups, 0, &g) == BM_OK);
    CHECK(file_digests(removed, 0, &r) == BM_OK);
    snprintf(text, sizeof text,
             "{\"counts\":{\"groups\":%zu},\"schema\":1,\"tool\":\"bandmill\",\"kind\":\"dedup\","
             "\"version\":\"0\",\"outputs\":{"
             "\"groups.jsonl\":\"%s\",\"removed.tsv\":\"%s\"},\"outputs_xxh3_128\":{"
             "\"groups.jsonl\":\"%s\",\"removed.tsv\":\"%s\"}}",
             n_groups, g.sha256, r.sha256, g.xxh3, r.xxh3);
    fuzz_write(fuzz_path("report.json", path), text, strlen(text));
    CHECK(bm_manifest_open(path, 0, &manifest, NULL) == BM_OK);
    return manifest;
}

static void check_labels(const uint8_t *data, size_t size)
{
    char groups[FUZZ_PATH], removed[FUZZ_PATH];
    const fuzz_parts parts = fuzz_split(data, size);
    const bm_settings settings = {.threads = 1};
    bm_group_labels labels = {.settings = &settings};
    bm_error err = {0};
    fuzz_write(fuzz_path("groups.jsonl", groups), parts.first, parts.n_first);
    fuzz_write(fuzz_path("removed.tsv", removed), parts.second, parts.n_second);
    size_t n_groups = 0;
    for (size_t i = 0; i < parts.n_first; i++)
        n_groups += parts.first[i] == '\n';
    bm_manifest *manifest = list_files(groups, removed, n_groups);
    bm_status status = bm_group_labels_load(manifest, &labels, &err);
    if (status != BM_OK) {
        CHECK(status == BM_ERR_FORMAT || status == BM_ERR_NOMEM);
        CHECK(err.message[0] != '\0');
    } else {
        const size_t n = labels.ids.n;
        for (uint32_t i = 0; i < n; i++) {
            const bm_group_label *label = &labels.labels[i];
            CHECK(label->group > 0);
            CHECK(label->millionths <= 1000000 || label->millionths == BM_JACCARD_UNKNOWN);
        }
        CHECK(bm_group_labels_done(&labels) == (n == 0));
    }
    bm_group_labels_reset(&labels);
    bm_manifest_close(manifest);
}

/* --- clusters --- */

#define MOST_IDS 256u

typedef struct model {
    bm_buf ids[MOST_IDS];
    uint32_t label[MOST_IDS];
    size_t n_ids;
    uint64_t pairs, unknown, counted;
    bool too_many;
} model;

static uint32_t model_id(model *m, bm_str id)
{
    for (uint32_t i = 0; i < m->n_ids; i++)
        if (fuzz_same(m->ids[i].data, m->ids[i].len, id.data, id.len))
            return i;
    if (m->n_ids == MOST_IDS) {
        m->too_many = true;
        return 0;
    }
    CHECK(bm_buf_add(&m->ids[m->n_ids], id.data, id.len, NULL) == BM_OK);
    m->label[m->n_ids] = (uint32_t)m->n_ids;
    return (uint32_t)m->n_ids++;
}

static void model_link(model *m, uint32_t a, uint32_t b)
{
    const uint32_t from = m->label[a], to = m->label[b];
    for (size_t i = 0; i < m->n_ids; i++)
        if (m->label[i] == from)
            m->label[i] = to;
}

static bool model_read(model *m, const char *path, double threshold)
{
    bm_pair_file file;
    bool more = true;
    bm_status status = bm_pair_file_open(path, BM_ERR_INPUT, NULL, &file, NULL);
    if (status != BM_OK)
        return false;
    while ((status = next_pair(&file, &more, NULL)) == BM_OK && more) {
        const uint32_t a = model_id(m, file.id_a), b = model_id(m, file.id_b);
        m->pairs++;
        m->unknown += isnan(file.similarity);
        if (isnan(file.similarity) || file.similarity >= threshold) {
            m->counted++;
            model_link(m, a, b);
        }
    }
    bm_pair_file_close(&file);
    return status == BM_OK;
}

static void model_compare(const model *m, const bm_cluster_summary *got)
{
    uint64_t groups = 0, largest = 0, removed = 0;
    for (uint32_t label = 0; label < m->n_ids; label++) {
        uint64_t size = 0;
        for (size_t i = 0; i < m->n_ids; i++)
            size += m->label[i] == label;
        groups += size > 1;
        removed += size > 1 ? size - 1 : 0;
        largest = size > 1 && size > largest ? size : largest;
    }
    CHECK(got->pairs == m->pairs && got->unknown == m->unknown && got->documents == m->n_ids);
    CHECK(got->first.pairs == m->counted && got->first.groups == groups);
    CHECK(got->first.largest == largest && got->first.removed == removed);
}

static int keep_rows(void *ctx, const char *data, size_t len)
{
    return bm_buf_add(ctx, data, len, NULL) != BM_OK;
}

static void check_clusters(const char *path)
{
    static const double thresholds[] = {0.000001, 0.5, 1.0};
    for (size_t i = 0; i < 3; i++) {
        char again[FUZZ_PATH];
        model m = {.n_ids = 0};
        bm_buf rows = {0}, once = {0};
        bm_error err = {0};
        bm_cluster_options options;
        bm_cluster_summary summary = {.struct_size = sizeof summary};
        bm_cluster_options_init(&options);
        options.path = path;
        options.thresholds = &thresholds[i];
        options.n_thresholds = 1;
        options.write = keep_rows;
        options.write_ctx = &rows;
        bm_status status = bm_cluster_pairs(&options, &summary, &err);
        const bool read = model_read(&m, path, thresholds[i]);
        CHECK((status == BM_OK) == read);
        if (status != BM_OK)
            check_error(status, &err, path);
        if (status == BM_OK && !m.too_many)
            model_compare(&m, &summary);
        fuzz_write(fuzz_path("clusters", again), rows.data, rows.len);
        if (status == BM_OK && rows.len < 4096) { /* the limit of a row in rewrite_groups */
            CHECK(rewrite_groups(again, &once));
            CHECK(fuzz_same(rows.data, rows.len, once.data, once.len));
        }
        CHECK(status == BM_OK || rows.len == 0);
        for (size_t j = 0; j < m.n_ids; j++)
            bm_buf_reset(&m.ids[j]);
        bm_buf_reset(&rows);
        bm_buf_reset(&once);
    }
}

static void check_inspect(const char *path)
{
    char *json = NULL;
    bm_error err = {0};
    bm_status status = bm_inspect(path, &json, &err);
    if (status != BM_OK)
        check_error(status, &err, path);
    else
        CHECK(json[0] == '{' && json[strlen(json) - 2] == '}');
    bm_string_free(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rewrite_fn *const rewrites[] = {rewrite_pairs, rewrite_groups, rewrite_table};
    char path[FUZZ_PATH];
    if (size == 0)
        return 0;
    const unsigned kind = data[0] % 5u;
    data++, size--;
    if (kind == 3) {
        check_labels(data, size);
        return 0;
    }
    fuzz_write(fuzz_path(kind == 1 ? "groups.jsonl" : "table.tsv", path), data, size);
    check_inspect(path);
    if (kind == 4)
        check_clusters(path);
    else
        check_fixed(path, rewrites[kind]);
    return 0;
}
