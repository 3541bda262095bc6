/* SPDX-License-Identifier: Apache-2.0 */
/* job_cluster.c -- makes groups from any list of pairs, at one threshold or at several in one pass.
 *
 * Components are built while rows are read, and no row stays in memory (lsh/groups.h). Stars need
 * all rows in memory (16 bytes each). The rows are sorted once by descending similarity, and each
 * threshold uses the first rows.
 *
 * Documents are numbered in the order in which the file first names them. If the same directory
 * contains the report of the `dedup` that wrote the file, documents are put into the input order of
 * that job, and copies share the links of the first copy (listed_order.h). Then the groups are the
 * same as those of `dedup`. A row without a similarity counts at every threshold. Single-threaded.
 *
 * Tests: tests/unit/jobs/test_cluster_groups.c, tests/unit/jobs/test_job_cluster.c */
#include <bandmill/cluster.h>

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/files.h"
#include "base/meter.h"
#include "base/sized_struct.h"
#include "job/rows.h"
#include "json/json_write.h"
#include "lsh/groups.h"
#include "model/file_names.h"
#include "model/ids.h"
#include "model/option_check.h"
#include "model/option_words.h"
#include "results/listed_order.h"
#include "results/pair_file.h"
#include "results/result_tables.h"

/* === cluster groups ===
 *
 * Makes groups from the labels of documents, and rows of groups.jsonl from groups. Groups are made
 * by a counting sort: count the documents of each label, number the groups in the order of their
 * first members, then put each document into its group. Time is linear; scratch memory is 8 bytes
 * per document. */

#define NO_GROUP UINT32_MAX

typedef struct bm_cluster_groups {
    size_t n;
    size_t *begins; /* members of group i: members[begins[i]] … members[begins[i + 1] - 1] */
    /* Documents in groups. Groups are in the order of their first members; members ascend. */
    uint32_t *members;
    uint32_t *kept; /* the kept document of each group */
    uint64_t n_members, largest;
} bm_cluster_groups; /* {0} is empty */

static bm_status fill(const uint32_t *labels, size_t n_docs, uint32_t *group_of,
                      bm_cluster_groups *g, bm_error *err)
{
    BM_TRY(bm_new_zero(&g->begins, g->n + 2, err));
    BM_TRY(bm_new(&g->members, (size_t)g->n_members, err));
    BM_TRY(bm_new(&g->kept, g->n, err));
    for (size_t doc = 0; doc < n_docs; doc++)
        if (group_of[labels[doc]] != NO_GROUP)
            g->begins[group_of[labels[doc]] + 2]++;
    for (size_t i = 0; i < g->n; i++)
        g->begins[i + 2] += g->begins[i + 1];
    for (size_t doc = 0; doc < n_docs; doc++) {
        uint32_t group = group_of[labels[doc]];
        if (group == NO_GROUP)
            continue;
        g->members[g->begins[group + 1]++] = (uint32_t)doc;
    }
    return BM_OK;
}

static void cluster_groups_reset(bm_cluster_groups *groups)
{
    bm_free_all(groups->begins, groups->members, groups->kept);
    memset(groups, 0, sizeof *groups);
}

/* Make the groups of at least two documents. labels[i] is the kept document of document i's group.
 * The label of a kept document is that document itself. */
static bm_status cluster_groups_make(const uint32_t *labels, size_t n_docs, bm_cluster_groups *out,
                                     bm_error *err)
{
    bm_cluster_groups g = {0};
    uint32_t *size = bm_alloc_zero(n_docs, sizeof *size);
    uint32_t *group_of = bm_alloc(n_docs, sizeof *group_of);
    bm_status status = BM_OK;
    if (size == NULL || group_of == NULL) {
        status = bm_fail_nomem(err, n_docs * 2 * sizeof *size);
        goto out;
    }
    memset(group_of, 0xFF, n_docs * sizeof *group_of);
    for (size_t doc = 0; doc < n_docs; doc++)
        size[labels[doc]]++;
    for (size_t doc = 0; doc < n_docs; doc++) {
        uint32_t label = labels[doc];
        if (size[label] < 2 || group_of[label] != NO_GROUP)
            continue;
        group_of[label] = (uint32_t)g.n++;
        g.n_members += size[label];
        g.largest = size[label] > g.largest ? size[label] : g.largest;
    }
    status = fill(labels, n_docs, group_of, &g, err);
    for (size_t i = 0; status == BM_OK && i < g.n; i++)
        g.kept[i] = labels[g.members[g.begins[i]]];
out:
    bm_free_all(size, group_of);
    if (status == BM_OK)
        *out = g;
    else
        cluster_groups_reset(&g);
    return status;
}

static bm_str id_of(const bm_id_set *ids, const uint32_t *numbers, uint32_t doc)
{
    return bm_id_set_id(ids, numbers != NULL ? numbers[doc] : doc);
}

/* Write the row of a group. The id of document `doc` has the number numbers[doc] in `ids`; if
 * `numbers` is NULL, the number `doc`. `keeps`: one member of each group is kept. */
static bm_status cluster_groups_row(const bm_cluster_groups *groups, const bm_id_set *ids,
                                    const uint32_t *numbers, size_t group, bool keeps,
                                    bm_rows *rows, bm_error *err)
{
    bm_json json = {0};
    size_t begin = groups->begins[group], end = groups->begins[group + 1];
    const bm_str kept = keeps ? id_of(ids, numbers, groups->kept[group]) : (bm_str){0};
    bm_group_line_begin(&json, group + 1, kept, end - begin);
    for (size_t i = begin; i < end; i++)
        bm_json_string(&json, id_of(ids, numbers, groups->members[i]));
    bm_status status = bm_group_line_end(&json, &rows->buf, err);
    bm_buf_reset(&json.buf);
    return status == BM_OK ? bm_rows_flush(rows, false, err) : status;
}

/* Once in this many rows, progress is reported and cancellation is checked. */
#define ROWS_A_LOOK  65536u
#define REPORT_BYTES ((uint64_t)1 << 30) /* largest report that is read */

/* Facts from the report beside a pairs.tsv, if `dedup --pairs` wrote both. */
typedef struct listed_pairs {
    bm_manifest *report;
    bm_listed *listed;   /* NULL: no report lists the file, and the members below are unused */
    double threshold;    /* the threshold of the `dedup` that wrote the pairs */
    bool against;        /* that `dedup` had known documents; pairs with them are not in the file */
    bool stars;          /* that `dedup` made stars */
    bm_listed_docs docs; /* the documents named in the file */
} listed_pairs;

typedef struct cluster {
    const bm_cluster_options *options;
    bool star;
    bm_pair_levels levels;
    bm_id_set ids;
    listed_pairs ours; /* from the report beside the file */
    /* Maps the number of a document to its place in the input. Without a report, this is empty, and
     * the place of a document is its number. */
    bm_listed_order order;
    bm_keep_rank rank; /* rank of the document at each place in the input */
    bm_pair *pairs;    /* only for stars */
    size_t n_pairs, cap_pairs;
    uint64_t n_rows, n_unknown;
    bm_cluster_result *results; /* one for each threshold, in the caller's order */
    bm_meter meter;
} cluster;

/* --- options --- */

static bm_status open_levels(cluster *c, bm_error *err)
{
    const bm_cluster_options *o = c->options;
    for (size_t i = 0; i < o->n_thresholds; i++)
        if (!(o->thresholds[i] > 0.0 && o->thresholds[i] <= 1.0))
            return bm_fail_field(err, "thresholds", "threshold %g (more than 0, at most 1)",
                                 o->thresholds[i]);
    BM_TRY(bm_pair_levels_open(o->thresholds, o->n_thresholds, &c->levels, err));
    return bm_new_zero(&c->results, c->levels.n, err);
}

/* --- the report beside the file --- */

static void close_listed(listed_pairs *pairs)
{
    bm_listed_close(pairs->listed);
    bm_manifest_close(pairs->report);
    bm_listed_docs_reset(&pairs->docs);
    *pairs = (listed_pairs){0};
}

/* Read the parameters of the job that wrote the pairs. */
static bm_status read_parameters(listed_pairs *out, bm_error *err)
{
    bm_result_facts f;
    BM_TRY(bm_result_facts_read(out->report, BM_FACT_CLUSTER | BM_FACT_THRESHOLD, &f, err));
    out->threshold = f.threshold;
    out->stars = f.cluster == BM_CLUSTER_STAR;
    out->against = bm_result_is_against(out->report);
    return BM_OK;
}

/* Set *out to the report in the directory of the file `path`. NULL: the directory has no report of
 * Bandmill. BM_ERR_FORMAT: the report is empty or damaged. */
static bm_status open_report(const char *path, int folder_len, bm_manifest **out, bm_error *err)
{
    char *report = NULL;
    struct stat info;
    bool there = false;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_string_format(&report, err, "%.*s" BM_FILE_REPORT, folder_len, path));
    BM_TRY_OUT(bm_manifest_find(report, REPORT_BYTES, out, err));
    if (*out == NULL)
        BM_TRY_OUT(bm_look_at(AT_FDCWD, report, 0, &there, &info, err));
    if (there && S_ISREG(info.st_mode) && info.st_size == 0)
        status = bm_fail_at(err, BM_ERR_FORMAT, report, 0,
                            "is empty (expected the report of the job that wrote the pairs, or "
                            "none)");
out:
    bm_free(report);
    return status;
}

/* In the directory of `path`, look for a report of `dedup` that lists the file by its name. If none
 * is found, or `path` is "-", out->listed stays NULL. Borrows `path` until close_listed. */
static bm_status open_listed(const char *path, listed_pairs *out, bm_error *err)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    *out = (listed_pairs){0};
    if (strcmp(path, "-") == 0)
        return BM_OK;
    bm_status status = BM_OK;
    BM_TRY_OUT(open_report(path, (int)(name - path), &out->report, err));
    if (out->report != NULL && bm_manifest_output_find(out->report, name) != NULL)
        BM_TRY_OUT(bm_listed_open(out->report, name, path, &out->listed, err));
    if (out->listed != NULL)
        BM_TRY_OUT(read_parameters(out, err));
out:
    if (status != BM_OK)
        close_listed(out);
    return status;
}

/* --- reading --- */

static bm_status add_pair(cluster *c, const bm_pair *pair, bm_error *err)
{
    const size_t at = bm_pair_levels_count(&c->levels, pair->similarity);
    if (c->ours.listed != NULL)
        BM_TRY(bm_listed_docs_row(&c->ours.docs, pair, err));
    c->n_rows++;
    c->n_unknown += isnan(pair->similarity) ? 1 : 0;
    if (!c->star)
        return bm_pair_levels_join(&c->levels, at, pair->a, pair->b, c->ids.n, err);
    if (at == c->levels.n)
        return BM_OK;
    BM_TRY(bm_grow_array(&c->pairs, &c->cap_pairs, c->n_pairs + 1, err));
    c->pairs[c->n_pairs++] = *pair;
    return BM_OK;
}

/* A bm_pair_row_fn. Adds the pair, and now and then reports progress. */
static bm_status read_row(void *ctx, const bm_pair_file *row, bm_error *err)
{
    cluster *c = ctx;
    bm_pair pair = {.similarity = row->similarity};
    BM_TRY(bm_id_set_add(&c->ids, row->id_a, &pair.a, err));
    BM_TRY(bm_id_set_add(&c->ids, row->id_b, &pair.b, err));
    BM_TRY(add_pair(c, &pair, err));
    if (c->n_rows % ROWS_A_LOOK != 0)
        return BM_OK;
    bm_meter_progress(&c->meter, row->lines.n_bytes, 0, c->ids.n);
    return bm_meter_check(&c->meter, err);
}

/* Refuse a file that lacks pairs with known documents, and `keep` last for groups that are
 * stars. */
static bm_status check_listed(const cluster *c, bm_error *err)
{
    if (c->ours.against)
        return bm_fail_field_at(
            err, "path", c->options->path, 0,
            "the job that wrote it compared with known documents, whose pairs it does "
            "not have (expected the pairs of a job on its own)");
    if (c->ours.stars && c->options->keep == BM_KEEP_LAST)
        return bm_fail_field_at(
            err, "path", c->options->path, 0,
            "the groups beside it are stars, which do not tell which document is the "
            "last (expected `keep` first, or the pairs of a job with components)");
    return BM_OK;
}

static void warn(cluster *c)
{
    const bm_cluster_options *o = c->options;
    /* the groups are only counted, so their order does not matter */
    const bool counts_alone = c->levels.n > 1 && !c->star;
    if (c->ours.listed == NULL && !counts_alone)
        bm_meter_log(&c->meter, BM_LOG_WARNING,
                     "%s: no report of dedup beside it: documents are in order of first "
                     "appearance, and each row is a link; dedup may keep others",
                     o->path);
    for (size_t i = 0; c->ours.listed != NULL && i < o->n_thresholds; i++)
        if (o->thresholds[i] < c->ours.threshold)
            bm_meter_log(&c->meter, BM_LOG_WARNING,
                         "%s: no pairs below %g were written (threshold %g)", o->path,
                         c->ours.threshold, o->thresholds[i]);
}

/* Read the rows of the file. If a report lists the file, the file must match the report. */
static bm_status read_rows(cluster *c, bm_error *err)
{
    bm_pair_file file;
    const bm_callbacks callbacks = bm_meter_callbacks(&c->meter);
    BM_TRY(open_listed(c->options->path, &c->ours, err));
    BM_TRY(bm_pair_file_open(c->options->path,
                             c->ours.listed != NULL ? BM_ERR_FORMAT : BM_ERR_INPUT, &callbacks,
                             &file, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(check_listed(c, err));
    bm_meter_stage(&c->meter, "read", "bytes");
    BM_TRY_OUT(bm_pair_file_each(&file, c->ours.listed, read_row, c, err));
    warn(c);
out:
    bm_pair_file_close(&file);
    return status;
}

static bool keeps_some(const cluster *c)
{
    return c->options->keep != BM_KEEP_NONE;
}

/* If a report lists the file, map the numbers of documents to their places in the input. */
static bm_status order_documents(cluster *c, bm_error *err)
{
    if (c->ours.listed == NULL)
        return BM_OK;
    const bm_callbacks callbacks = bm_meter_callbacks(&c->meter);
    const bm_result_dir dir = {c->ours.report, &callbacks, SIZE_MAX};
    BM_TRY(
        bm_listed_docs_order(&c->ours.docs, c->ours.stars ? NULL : &dir, &c->ids, &c->order, err));
    bm_listed_order_map(&c->order, c->pairs, c->n_pairs);
    return BM_OK;
}

/* --- groups --- */

static double known_or_more(double similarity)
{
    return isnan(similarity) ? INFINITY : similarity;
}

static int most_similar_first(const void *x, const void *y)
{
    const bm_pair *p = x, *q = y;
    double a = known_or_more(p->similarity), b = known_or_more(q->similarity);
    if (a > b || a < b)
        return a > b ? -1 : 1;
    return bm_pair_by_place(p, q);
}

/* Set labels[i] to the kept document of document i's group. Documents are numbered by their places
 * in the input. */
static bm_status component_labels(const cluster *c, bm_union_find *sets, uint32_t *labels,
                                  bm_error *err)
{
    const size_t n = c->ids.n;
    uint32_t *best = NULL;
    BM_TRY(bm_new(&best, n, err));
    const uint32_t *places = c->order.places;
    for (size_t doc = 0; doc < n; doc++) {
        const uint32_t root = bm_union_find_root(sets, (uint32_t)doc);
        labels[places != NULL ? places[doc] : doc] = places != NULL ? places[root] : root;
    }
    bm_keep_rank_best(&c->rank, labels, n, best);
    for (size_t i = 0; i < n; i++)
        labels[i] = best[labels[i]];
    bm_free(best);
    return BM_OK;
}

static bm_status write_groups(const cluster *c, const uint32_t *labels, bm_rows *rows,
                              bm_error *err)
{
    bm_cluster_groups groups = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(cluster_groups_make(labels, c->ids.n, &groups, err));
    for (size_t i = 0; i < groups.n; i++)
        BM_TRY_OUT(
            cluster_groups_row(&groups, &c->ids, c->order.docs, i, keeps_some(c), rows, err));
out:
    cluster_groups_reset(&groups);
    return status;
}

/* Make the groups of one level. `n_pairs`: number of rows that reach the threshold of the level.
 * Sets the result of the level, and, if it is the only level, writes its groups. */
static bm_status finish_level(cluster *c, bm_pair_level *level, uint64_t n_pairs, bm_rows *rows,
                              bm_error *err)
{
    const bm_pair_list pairs = {c->pairs, (size_t)n_pairs, c->ids.n};
    uint32_t *labels = NULL;
    bm_group_counts counts = {0};
    BM_TRY(bm_meter_check(&c->meter, err));
    BM_TRY(bm_new(&labels, c->ids.n, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(c->star ? bm_pair_stars(pairs, &c->rank, c->order.rep, labels, err)
                       : component_labels(c, &level->sets, labels, err));
    BM_TRY_OUT(bm_group_counts_of(labels, c->ids.n, &counts, err));
    c->results[level->place] =
        (bm_cluster_result){.threshold = level->threshold,
                            .pairs = n_pairs,
                            .groups = counts.groups,
                            .largest = counts.largest,
                            .removed = counts.removed + (keeps_some(c) ? 0 : counts.groups)};
    if (c->levels.n == 1)
        status = write_groups(c, labels, rows, err);
out:
    bm_free(labels);
    bm_union_find_reset(&level->sets); /* no longer needed */
    return status;
}

/* Finish each level, the highest threshold first. */
static bm_status finish_levels(cluster *c, bm_rows *rows, bm_error *err)
{
    uint64_t n_pairs = 0;
    bm_meter_stage(&c->meter, "group", "thresholds");
    if (c->n_pairs > 1)
        qsort(c->pairs, c->n_pairs, sizeof *c->pairs, most_similar_first);
    for (size_t i = 0; i < c->levels.n; i++) {
        n_pairs += c->levels.levels[i].first_at;
        BM_TRY(finish_level(c, &c->levels.levels[i], n_pairs, rows, err));
    }
    return BM_OK;
}

/* --- the table --- */

static bm_status write_table(const cluster *c, bm_rows *rows, bm_error *err)
{
    BM_TRY(bm_table_begin(&rows->buf, BM_TABLE_THRESHOLDS, err));
    for (size_t i = 0; i < c->levels.n; i++) {
        const bm_cluster_result *r = &c->results[i];
        const bm_threshold_line line = {r->threshold, r->pairs, r->groups, r->largest, r->removed};
        BM_TRY(bm_threshold_line_add(&rows->buf, &line, err));
    }
    return BM_OK;
}

static bm_status write_json(const cluster *c, bm_rows *rows, bm_error *err)
{
    bm_json json = {0};
    bm_json_begin_object(&json);
    bm_json_key_uint(&json, "schema", 1);
    bm_json_key_text(&json, "kind", "cluster");
    bm_json_key_text(&json, "cluster", bm_option_name(BM_OPTION_CLUSTER, c->options->cluster));
    bm_json_key_uint(&json, "pairs", c->n_rows);
    bm_json_key_uint(&json, "documents", c->ids.n);
    bm_json_key_uint(&json, "unknown", c->n_unknown);
    bm_json_key_array(&json, "thresholds");
    for (size_t i = 0; i < c->levels.n; i++) {
        bm_json_begin_object(&json);
        bm_json_key_double(&json, "threshold", c->results[i].threshold);
        bm_json_key_uint(&json, "pairs", c->results[i].pairs);
        bm_json_key_uint(&json, "groups", c->results[i].groups);
        bm_json_key_uint(&json, "largest", c->results[i].largest);
        bm_json_key_uint(&json, "removed", c->results[i].removed);
        bm_json_end_object(&json);
    }
    bm_json_end_array(&json);
    bm_json_end_object(&json);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_json_finish(&json, err));
    status = bm_buf_add(&rows->buf, json.buf.data, json.buf.len, err);
out:
    bm_buf_reset(&json.buf);
    return status;
}

/* --- the job --- */

static bm_status run(cluster *c, bm_error *err)
{
    const bm_cluster_options *o = c->options;
    static const bm_forecast_step stages[] = {{"read", 1, NULL}, {"group", 0.5, NULL}};
    bm_rows rows = {.write = o->write, .write_ctx = o->write_ctx};
    bm_meter_plan(&c->meter, stages, sizeof stages / sizeof stages[0]);
    bm_status status = BM_OK;
    BM_TRY_OUT(open_levels(c, err));
    if (o->output.path != NULL)
        BM_TRY_OUT(bm_out_file_check(o->output.path, bm_out_existing_of(o->output.force), &o->path,
                                     1, err));
    BM_TRY_OUT(read_rows(c, err));
    BM_TRY_OUT(order_documents(c, err));
    BM_TRY_OUT(bm_keep_rank_of_rule(o->keep, NULL, c->ids.n, &c->rank, err));
    BM_TRY_OUT(bm_rows_open(&rows, &o->output, err));
    BM_TRY_OUT(finish_levels(c, &rows, err));
    if (c->levels.n > 1)
        BM_TRY_OUT(o->json ? write_json(c, &rows, err) : write_table(c, &rows, err));
    status = bm_rows_flush(&rows, true, err);
out:
    return bm_rows_end(&rows, status, err);
}

BM_OPTIONS_INIT(cluster, 0)

static bm_status check_options(const bm_cluster_options *o, bm_error *err)
{
    if (o->path == NULL)
        return bm_fail_field(err, "path", "no input given (a pairs.tsv)");
    if (o->thresholds == NULL && o->n_thresholds > 0)
        return bm_fail_field(err, "thresholds", "`thresholds` is NULL and has %zu entries",
                             o->n_thresholds);
    BM_TRY(bm_option_parts_check(
        &(bm_option_parts){.output = &o->output, .callbacks = &o->callbacks}, err));
    BM_TRY(bm_option_check(BM_OPTION_CLUSTER, o->cluster, err));
    BM_TRY(bm_option_check(BM_OPTION_KEEP, o->keep, err));
    if (o->keep != BM_KEEP_FIRST && o->keep != BM_KEEP_LAST && o->keep != BM_KEEP_NONE)
        return bm_fail_field(
            err, "keep",
            "pairs do not say how long the documents are (`keep` first, last or none)");
    if (o->output.path == NULL && o->write == NULL)
        return bm_fail_field(err, "write", "no place for the groups given (`output` or `write`)");
    return BM_OK;
}

bm_status bm_cluster_pairs(const bm_cluster_options *options, bm_cluster_summary *out,
                           bm_error *err)
{
    bm_cluster_options used = cluster_defaults;
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_cluster_options, callbacks), &used, err));
    BM_TRY(check_options(&used, err));
    if (out != NULL)
        BM_TRY(bm_sized_check(out, BM_SIZED_TYPE(bm_cluster_summary, first), err));
    cluster c = {.options = &used, .star = used.cluster == BM_CLUSTER_STAR};
    bm_meter_init(&c.meter, &used.callbacks);
    bm_status status = BM_OK;
    BM_TRY_OUT(run(&c, err));
    status = bm_sized_write(
        &(bm_cluster_summary){
            .pairs = c.n_rows, .documents = c.ids.n, .unknown = c.n_unknown, .first = c.results[0]},
        BM_SIZED_TYPE(bm_cluster_summary, first), out, err);
out:
    bm_pair_levels_reset(&c.levels);
    bm_free_all(c.results, c.pairs);
    bm_keep_rank_reset(&c.rank);
    bm_listed_order_reset(&c.order);
    close_listed(&c.ours);
    bm_id_set_reset(&c.ids);
    bm_meter_reset(&c.meter);
    return status;
}
