/* SPDX-License-Identifier: Apache-2.0 */
/* page_dir.c -- reads the directory that dedup wrote: its report and its tables. Only the parts
 * that will be shown stay in memory:
 *
 *     removed.tsv     the pairs of the most chained documents; a sample; ids of the kept documents
 *                     that have chained ones
 *     groups.jsonl    the largest groups; the largest that has chained documents; then the ids of
 *                     the largest groups
 *     removed.tsv     for each of the largest groups: why its documents were removed, and which is
 *                     least like the kept one
 *     pairs.tsv       similarities; the pairs just above the threshold; all pairs, to compute the
 *                     groups of other thresholds
 *
 * A group at a higher threshold is part of a group at the job's threshold, so all of its pairs are
 * in pairs.tsv. Components come from one union-find for each threshold. Stars are computed in one
 * pass, in the order of the documents.
 *
 * Documents become centres of stars in the order in which dedup would keep them (listed_order.h).
 * No file of the directory contains the lengths of texts, so stars that begin with the longest or
 * shortest text are computed after the inputs are read.
 *
 * Tests: tests/cli/cases/report.sh, tests/reference/test_report.py */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/files.h"
#include "base/random.h"
#include "json/json_scan.h"
#include "json/json_write.h"
#include "results/result_dir.h"
#include "results/listed_order.h"
#include "lsh/groups.h"
#include "model/file_names.h"
#include "job/job_context.h"
#include "job/report_file.h"
#include "report/page.h"

/* --- documents that are shown --- */

static void reset_docs(bm_page_doc *docs, size_t n)
{
    for (size_t i = 0; docs != NULL && i < n; i++)
        bm_free_all(docs[i].text, docs[i].hashes);
    bm_free(docs);
}

void bm_page_reset(bm_page *p)
{
    void *const blocks[] = {
        p->sources,           p->no_texts,      p->sizes,        p->groups,
        p->near.rows,         p->chained.rows,  p->sample.rows,  p->what_if.pairs,
        p->what_if.lengths,   p->graph.pairs,   p->graph.nodes,  p->graph.bridge_order,
        p->graph.point_order, p->graph.weakest, p->graph.node_of};
    for (size_t i = 0; p->sources != NULL && i < bm_manifest_n_inputs(p->manifest); i++)
        bm_free_all(p->sources[i].gone, p->sources[i].path);
    reset_docs(p->docs, p->ids.n);
    reset_docs(p->graph.members, p->graph.ids.n);
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        bm_free(blocks[i]);
    bm_id_set_reset(&p->ids);
    bm_id_set_reset(&p->known_ids);
    bm_id_set_reset(&p->what_if.ids);
    bm_listed_docs_reset(&p->what_if.docs);
    bm_id_set_reset(&p->graph.ids);
    bm_copies_reset(&p->graph.copies);
    bm_bridges_reset(&p->graph.bridges);
    *p = (bm_page){0};
}

bm_status bm_page_show(bm_page *p, bm_str id, uint32_t *number, bm_error *err)
{
    const size_t before = p->ids.n;
    BM_TRY(bm_grow_array(&p->docs, &p->cap_docs, before + 1, err));
    BM_TRY(bm_id_set_add(&p->ids, id, number, err));
    if (p->ids.n > before)
        p->docs[before] = (bm_page_doc){0};
    return BM_OK;
}

static bm_status show_kept(bm_page *p, bm_str id, bool known, uint32_t *number, bm_error *err)
{
    if (!known)
        return bm_page_show(p, id, number, err);
    const bm_status status = bm_id_set_add(&p->known_ids, id, number, err);
    *number |= BM_PAGE_KNOWN;
    return status;
}

bm_str bm_page_id(const bm_page *p, uint32_t number)
{
    return (number & BM_PAGE_KNOWN) != 0 ? bm_id_set_id(&p->known_ids, number & ~BM_PAGE_KNOWN)
                                         : bm_id_set_id(&p->ids, number);
}

const bm_page_doc *bm_page_doc_of(const bm_page *p, uint32_t number)
{
    static const bm_page_doc none = {0};
    return (number & BM_PAGE_KNOWN) != 0 ? &none : &p->docs[number];
}

/* --- the pairs of least rank: a short sorted list; most offered pairs do not enter it --- */

static bm_status page_least_offer(bm_page_least *least, const bm_page_offer *offer, bm_error *err)
{
    const bm_str a = offer->a, b = offer->b;
    bm_bisect range = {0, least->n}; /* finds the position after all rows of equal or smaller
                                        rank */
    least->of++;
    while (range.low < range.high)
        bm_bisect_go(&range, least->rows[bm_middle(&range)].rank <= offer->rank);
    const size_t at = range.low;
    if (at >= least->most)
        return BM_OK;
    char *ids = NULL;
    BM_TRY(bm_grow_array(&least->rows, &least->cap, least->n + 1, err));
    BM_TRY(bm_new(&ids, a.len + b.len, err));
    if (a.len > 0)
        memcpy(ids, a.data, a.len);
    if (b.len > 0)
        memcpy(ids + a.len, b.data, b.len);
    if (least->n == least->most)
        bm_free(least->rows[--least->n].ids);
    memmove(least->rows + at + 1, least->rows + at, (least->n - at) * sizeof *least->rows);
    least->rows[at] =
        (bm_page_least_row){offer->rank, offer->jaccard, offer->known, ids, a.len, b.len};
    least->n++;
    return BM_OK;
}

/* Append the selected pairs to *out, and have their documents shown. */
static bm_status page_least_show(const bm_page_least *least, bm_page *p, bm_page_pairs *out,
                                 bm_error *err)
{
    BM_TRY(bm_grow_array(&out->rows, &out->cap, least->n, err));
    out->of = least->of;
    for (size_t i = 0; i < least->n; i++) {
        const bm_page_least_row *row = &least->rows[i];
        const bm_str a = {row->ids, row->len_a}, b = {row->ids + row->len_a, row->len_b};
        bm_page_pair pair = {.jaccard = row->jaccard};
        BM_TRY(show_kept(p, a, row->known, &pair.a, err));
        BM_TRY(bm_page_show(p, b, &pair.b, err));
        out->rows[out->n++] = pair;
    }
    return BM_OK;
}

static void page_least_reset(bm_page_least *least)
{
    for (size_t i = 0; i < least->n; i++)
        bm_free(least->rows[i].ids);
    bm_free(least->rows);
    *least = (bm_page_least){.most = least->most};
}

/* --- report.json and sources.tsv --- */

/* Fail if the number is above BM_PERMS_MAX, the most permutations that a plan can have. */
static bm_status check_small(const bm_page *p, const char *path, uint64_t value, bm_error *err)
{
    return value <= BM_PERMS_MAX ? BM_OK
                                 : bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(p->manifest), 0,
                                              "%s is %" PRIu64, path, value);
}

static bm_status read_parameters(bm_page *p, bm_error *err)
{
    bm_str bands;
    bm_result_facts f = {.keep = BM_KEEP_FIRST, .predicted_recall = NAN};
    unsigned wanted = BM_FACT_THRESHOLD | BM_FACT_SECONDS;
    if (!p->overlap.is) {
        p->against = bm_result_is_against(p->manifest);
        wanted |= BM_FACT_VERIFY | BM_FACT_CLUSTER | BM_FACT_KEEP;
    }
    if (bm_manifest_member(p->manifest, "plan.bands", &bands))
        wanted |= BM_FACT_PLAN | BM_FACT_PERMS | BM_FACT_RECALL;
    BM_TRY(bm_result_facts_read(p->manifest, wanted, &f, err));
    BM_TRY(check_small(p, "plan.bands", f.bands, err));
    BM_TRY(check_small(p, "plan.rows", f.rows, err));
    BM_TRY(check_small(p, "provenance.perms", f.perms, err));
    p->verify = (bm_verify)f.verify;
    p->cluster = (bm_cluster)f.cluster;
    p->keep = (bm_keep)f.keep;
    p->keep_is_list = f.keep_is_list;
    p->threshold = f.threshold;
    p->seconds = f.seconds;
    p->bands = (uint32_t)f.bands;
    p->rows = (uint32_t)f.rows;
    p->predicted_recall = f.predicted_recall;
    return BM_OK;
}

static const bm_json_row size_rows[] = {
    {"size", BM_MEMBER_UINT, .offset = offsetof(bm_page_size, size)},
    {"groups", BM_MEMBER_UINT, .offset = offsetof(bm_page_size, groups)}};

static bm_status read_sizes(bm_page *p, bm_error *err)
{
    bm_str sizes = {0}, row;
    size_t at = 0;
    bm_manifest_member(p->manifest, "group_sizes", &sizes);
    while (bm_json_scan_element(sizes, &at, &row)) {
        bm_page_size one = {0};
        if (bm_json_read(&(bm_json_reader){.object = row}, size_rows, 2, &one, NULL) != BM_OK)
            return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(p->manifest), 0,
                              "group_sizes is no list of sizes and groups");
        BM_TRY(bm_grow_array(&p->sizes, &p->cap_sizes, p->n_sizes + 1, err));
        p->sizes[p->n_sizes++] = one;
    }
    return BM_OK;
}

static const bm_json_row removed_bytes_row = {BM_INPUT_REMOVED_BYTES, BM_MEMBER_UINT,
                                              .offset = offsetof(bm_page_source, removed_bytes),
                                              .presence = BM_MEMBER_OPTIONAL};

static bm_status read_sources(bm_page *p, bm_error *err)
{
    const size_t n = bm_manifest_n_inputs(p->manifest);
    uint64_t *rows = bm_alloc(3 * n + 1, sizeof *rows);
    bm_str inputs = {0}, input;
    size_t at = 0;
    bm_status status = BM_OK;
    p->sources = bm_alloc_zero(n, sizeof *p->sources);
    if (p->sources == NULL || rows == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, n * sizeof *p->sources));
    bm_source_column columns[] = {{.field = BM_SOURCES_DOCUMENTS, .rows = rows},
                                  {.field = BM_SOURCES_SKIPPED, .rows = rows + n},
                                  {.field = BM_SOURCES_REMOVED, .rows = rows + 2 * n}};
    BM_TRY_OUT(bm_source_table_read(p->manifest, columns, 3, err));
    for (size_t i = 0; i < n; i++)
        p->sources[i] = (bm_page_source){.documents = rows[i],
                                         .skipped = rows[n + i],
                                         .removed = rows[2 * n + i],
                                         .removed_bytes = BM_COUNT_UNKNOWN};
    bm_manifest_member(p->manifest, "inputs", &inputs);
    for (size_t i = 0; i < n && bm_json_scan_element(inputs, &at, &input); i++)
        (void)bm_json_read(&(bm_json_reader){.object = input}, &removed_bytes_row, 1,
                           &p->sources[i], NULL);
out:
    bm_free(rows);
    return status;
}

bm_status bm_page_read_facts(bm_page *p, bm_error *err)
{
    p->overlap.is = bm_result_is_overlap(p->manifest);
    p->units.is = bm_result_is_of_units(p->manifest);
    if (!p->overlap.is)
        BM_TRY(bm_result_check_kind(p->manifest, bm_manifest_path(p->manifest), err));
    BM_TRY(read_parameters(p, err));
    p->dir = (bm_result_dir){p->manifest, &p->settings->callbacks, p->settings->memory};
    p->has_pairs = bm_manifest_output(p->manifest, BM_FILE_PAIRS) != NULL;
    BM_TRY(bm_report_read_counts(p->manifest, &p->counts, err));
    BM_TRY(read_sizes(p, err));
    return read_sources(p, err);
}

/* --- removed.tsv --- */

typedef struct reading {
    bm_page *page;
    uint64_t budget; /* memory for ids, in bytes; 0: no limit */
    bm_id_set hubs;  /* ids of kept documents that have chained documents */
    bm_page_least chained, near, sample;
    uint64_t draws;     /* state of the generator that draws the sample */
    uint64_t best_size; /* size of the largest group with chained documents */
    /* The kept documents of the largest groups, and the groups of these documents. If there are
     * known documents, all members are here instead, because other documents may have the same ids
     * as known ones. */
    bm_id_set keys;
    size_t *group_of, cap_group_of;
    size_t at_group;
} reading;

typedef struct removed_row {
    bm_str id, kept;
    double jaccard; /* NAN: not known */
    bool identical, equal, chained, known;
} removed_row;

static bm_status read_removed(const bm_tsv_table *table, removed_row *row, bm_error *err)
{
    const bm_str reason = table->fields[BM_REMOVED_REASON];
    double jaccard;
    if (!bm_table_similarity(table->fields[BM_REMOVED_JACCARD], &jaccard))
        return bm_fail_at(err, BM_ERR_FORMAT, table->path, table->line,
                          "the similarity is not a number of six decimals");
    *row = (removed_row){.id = table->fields[BM_REMOVED_ID],
                         .kept = table->fields[BM_REMOVED_KEPT],
                         .jaccard = jaccard,
                         .identical = bm_json_scan_is(reason, BM_REMOVED_IS_IDENTICAL),
                         .equal = bm_json_scan_is(reason, BM_REMOVED_IS_EQUAL),
                         .chained = bm_json_scan_is(reason, BM_REMOVED_IS_CHAINED),
                         .known = bm_json_scan_is(reason, BM_REMOVED_IS_KNOWN)};
    return BM_OK;
}

static void count_similarity(bm_page *p, double jaccard)
{
    p->similarities[bm_histogram_bin(jaccard)]++;
    p->n_similarities++;
}

static bm_status offer(bm_page_least *least, const removed_row *row, double rank, bm_error *err)
{
    return page_least_offer(
        least, &(bm_page_offer){row->kept, row->id, rank, row->jaccard, row->known}, err);
}

/* A bm_result_row_fn: offers the pairs to show, and collects the hubs. If there is no pairs.tsv, it
 * also counts similarities. */
static bm_status first_walk(void *ctx, const bm_tsv_table *table, bm_error *err)
{
    reading *r = ctx;
    bm_page *p = r->page;
    removed_row removed = {0};
    const removed_row *row = &removed;
    BM_TRY(read_removed(table, &removed, err));
    if (!p->has_pairs && !isnan(row->jaccard)) {
        count_similarity(p, row->jaccard);
        const bool at_edge = p->verify == BM_VERIFY_CONTAINED || row->jaccard >= p->threshold;
        if (at_edge && row->jaccard < 1)
            BM_TRY(offer(&r->near, row, row->jaccard, err));
    }
    if (p->keep != BM_KEEP_NONE) /* without a kept document, there is no similarity to it */
        BM_TRY(offer(&r->sample, row, (double)(bm_splitmix64(&r->draws) >> 11), err));
    if (!row->chained)
        return BM_OK;
    uint32_t number;
    BM_TRY(bm_id_set_add(&r->hubs, row->kept, &number, err));
    const uint64_t bytes = bm_id_set_bytes(r->hubs.n, r->hubs.text.len);
    if (r->budget != 0 && bytes > r->budget)
        BM_TRY(
            bm_table_budget_refuse(p->settings, "the kept documents of chained ones", bytes, err));
    return isnan(row->jaccard) ? BM_OK : offer(&r->chained, row, row->jaccard, err);
}

/* Are removed documents looked up by their own ids? Otherwise the id of the kept document is used,
 * but another document may have the same id as a known kept document, and a group may keep none. */
static bool goes_by_members(const bm_page *p)
{
    return p->against || p->keep == BM_KEEP_NONE;
}

/* A bm_result_row_fn: counts the rows of the largest groups, and finds the document of each group
 * that is least similar to the kept document. */
static bm_status last_walk(void *ctx, const bm_tsv_table *table, bm_error *err)
{
    reading *r = ctx;
    removed_row removed = {0};
    const removed_row *row = &removed;
    BM_TRY(read_removed(table, &removed, err));
    const uint32_t number =
        bm_id_set_find(&r->keys, goes_by_members(r->page) ? row->id : row->kept);
    if (number == BM_ID_NONE)
        return BM_OK;
    bm_page_group *group = &r->page->groups[r->group_of[number]];
    group->removed++;
    group->identical += row->identical;
    group->equal += row->equal;
    group->chained += row->chained;
    if (group->kept == BM_PAGE_NO_DOC)
        return BM_OK;
    /* The first document is shown even if no similarity is known. */
    const bool first = group->least_doc == BM_PAGE_NO_DOC;
    if (!first && (isnan(row->jaccard) || (!isnan(group->least) && row->jaccard >= group->least)))
        return BM_OK;
    group->least = row->jaccard;
    return bm_page_show(r->page, row->id, &group->least_doc, err);
}

/* --- groups.jsonl --- */

/* A bm_result_group_fn: keeps the largest groups, and the largest group that has chained
 * documents. */
static bm_status add_group(void *ctx, bm_group_file *file, bool *stop, bm_error *err)
{
    reading *r = ctx;
    bm_page *p = r->page;
    const size_t most = p->options->groups;
    (void)stop;
    if (r->hubs.n > 0 && file->size > r->best_size) {
        bm_str kept;
        BM_TRY(bm_group_file_kept(file, &kept, err));
        if (bm_id_set_find(&r->hubs, kept) != BM_ID_NONE) {
            r->best_size = file->size;
            p->largest_chained = file->group;
        }
    }
    if (most == 0 || (p->n_groups == most && p->groups[most - 1].size >= file->size))
        return BM_OK;
    BM_TRY(bm_grow_array(&p->groups, &p->cap_groups, p->n_groups + 1, err));
    size_t at = p->n_groups - (p->n_groups == most);
    p->n_groups = at + 1;
    for (; at > 0 && p->groups[at - 1].size < file->size; at--)
        p->groups[at] = p->groups[at - 1];
    p->groups[at] = (bm_page_group){.number = file->group,
                                    .size = file->size,
                                    .kept = BM_PAGE_NO_DOC,
                                    .least_doc = BM_PAGE_NO_DOC,
                                    .least = NAN,
                                    .known = file->known};
    return BM_OK;
}

static bm_status add_key(reading *r, bm_str id, bm_error *err)
{
    uint32_t number;
    BM_TRY(bm_grow_array(&r->group_of, &r->cap_group_of, r->keys.n + 1, err));
    BM_TRY(bm_id_set_add(&r->keys, id, &number, err));
    if (number + (size_t)1 == r->keys.n)
        r->group_of[number] = r->at_group;
    const uint64_t bytes =
        bm_id_set_bytes(r->keys.n, r->keys.text.len) + r->cap_group_of * sizeof *r->group_of;
    if (r->budget != 0 && bytes > r->budget)
        BM_TRY(bm_table_budget_refuse(r->page->settings, "the members of the largest groups", bytes,
                                      err));
    return BM_OK;
}

/* Called for each member of a group. Adds the member's key if the group is shown. If the kept
 * document of the group is a known document, also marks the member's row among the most chained
 * documents. */
static bm_status add_member(void *ctx, const bm_group_file *file, bm_str id, bm_error *err)
{
    reading *r = ctx;
    for (size_t i = 0; file->known && i < r->chained.n; i++) {
        bm_page_least_row *row = &r->chained.rows[i];
        if (row->len_b == id.len && memcmp(row->ids + row->len_a, id.data, id.len) == 0)
            row->known = true;
    }
    return r->at_group < r->page->n_groups ? add_key(r, id, err) : BM_OK;
}

/* A bm_result_group_fn: adds the ids of the largest groups, once it is certain which these are. */
static bm_status add_ids(void *ctx, bm_group_file *file, bool *stop, bm_error *err)
{
    reading *r = ctx;
    bm_page *p = r->page;
    bm_str kept;
    (void)stop;
    for (r->at_group = 0; r->at_group < p->n_groups; r->at_group++)
        if (p->groups[r->at_group].number == file->group)
            break;
    const bool is_shown = r->at_group < p->n_groups;
    if (goes_by_members(p) && (is_shown || (file->known && r->chained.n > 0)))
        BM_TRY(bm_group_file_members(file, add_member, r, &kept, err));
    else if (is_shown)
        BM_TRY(bm_group_file_kept(file, &kept, err));
    if (!is_shown)
        return BM_OK;
    if (!goes_by_members(p))
        BM_TRY(add_key(r, kept, err));
    return kept.data == NULL ? BM_OK
                             : show_kept(p, kept, file->known, &p->groups[r->at_group].kept, err);
}

/* --- the results of stars and of higher thresholds --- */

/* Choose the next thresholds: three steps of .05, or of .02 or .01 if these do not fit. Returns
 * their number, which is less than three close to 1. */
static size_t next_thresholds(double threshold, bm_page_choice out[BM_PAGE_CHOICES])
{
    static const long steps[] = {500, 200, 100}; /* steps in units of 1/10,000 */
    const long from = lround(threshold * 10000);
    size_t n = 0, i = 0;
    while (i < 2 && from + (long)BM_PAGE_CHOICES * steps[i] > 10000)
        i++;
    for (long at = from + steps[i]; n < BM_PAGE_CHOICES && at <= 10000; at += steps[i])
        out[n++] = (bm_page_choice){.threshold = (double)at / 10000};
    return n;
}

static const char *why_not(const bm_page *p)
{
    if (!p->has_pairs)
        return "the directory has no pairs.tsv, which dedup `pairs` writes";
    if (p->against)
        return "documents were compared with known ones, whose pairs are not in pairs.tsv";
    if (p->verify == BM_VERIFY_NONE)
        return "no similarities are known";
    if (p->verify == BM_VERIFY_CONTAINED)
        return "a document goes where a kept one holds it, whatever the threshold";
    if (p->cluster == BM_CLUSTER_STAR)
        return "the groups are stars, which would begin elsewhere at another threshold";
    return NULL;
}

static bool goes_by_length(const bm_page *p)
{
    return p->keep == BM_KEEP_LONGEST || p->keep == BM_KEEP_SHORTEST;
}

static void what_if_begin(bm_page *p)
{
    bm_page_what_if *w = &p->what_if;
    w->budget = p->settings->memory / (goes_by_length(p) ? 4 : 2); /* texts also need memory */
    w->why_not = w->why_no_stars = why_not(p);
    if (p->cluster == BM_CLUSTER_STAR)
        w->why_no_stars = "the groups are stars already: nothing is chained";
    else if (w->why_not == NULL && p->keep_is_list)
        w->why_no_stars = "stars begin with the documents that `keep` prefers, which only dedup "
                          "knows";
    else if (w->why_not == NULL && goes_by_length(p) && !p->has_texts)
        w->why_no_stars = "stars begin with the longest or shortest texts, and the inputs "
                          "have none";
    w->n_thresholds = w->why_not == NULL ? next_thresholds(p->threshold, w->thresholds) : 0;
}

/* Called if the data do not fit into memory: drop them, and note that on the page. */
static void drop_what_if(bm_page_what_if *w)
{
    w->why_not = w->why_no_stars = "the pairs do not fit into the memory of this report";
    w->n_thresholds = 0;
    bm_id_set_reset(&w->ids);
    bm_listed_docs_reset(&w->docs);
    bm_free(w->pairs);
    w->pairs = NULL;
    w->n_pairs = w->cap_pairs = 0;
}

static uint64_t bytes_of(const bm_page_what_if *w)
{
    return bm_id_set_bytes(w->ids.n, w->ids.text.len) +
           (uint64_t)w->ids.n * (4 * BM_PAGE_CHOICES + 40) +
           (uint64_t)w->n_pairs * (sizeof *w->pairs * 2 + 16);
}

static bm_status what_if_pair(bm_page *p, bm_str a, bm_str b, double jaccard, bm_error *err)
{
    bm_page_what_if *w = &p->what_if;
    uint32_t x, y;
    if (w->why_not != NULL)
        return BM_OK;
    BM_TRY(bm_id_set_add(&w->ids, a, &x, err));
    BM_TRY(bm_id_set_add(&w->ids, b, &y, err));
    BM_TRY(bm_grow_array(&w->pairs, &w->cap_pairs, w->n_pairs + 1, err));
    w->pairs[w->n_pairs++] = (bm_pair){x, y, jaccard};
    BM_TRY(bm_listed_docs_row(&w->docs, &w->pairs[w->n_pairs - 1], err));
    if (bytes_of(w) > w->budget)
        drop_what_if(w);
    return BM_OK;
}

static void put_counts(const bm_page *p, const bm_group_counts *counts, bm_page_choice *out)
{
    out->groups = counts->groups;
    out->largest = counts->largest;
    out->removed = counts->removed + (p->keep == BM_KEEP_NONE ? counts->groups : 0);
}

static bm_status count_levels(bm_page *p, bm_pair_levels *levels, bm_error *err)
{
    bm_page_what_if *w = &p->what_if;
    uint64_t n_pairs = 0;
    for (size_t k = 0; k < w->n_pairs; k++) {
        const bm_pair *pair = &w->pairs[k];
        if (!isnan(pair->similarity))
            BM_TRY(bm_pair_levels_join(levels, bm_pair_levels_count(levels, pair->similarity),
                                       pair->a, pair->b, w->ids.n, err));
    }
    for (size_t i = 0; i < levels->n; i++) {
        bm_union_find *sets = &levels->levels[i].sets;
        bm_page_choice *choice = &w->thresholds[levels->levels[i].place];
        bm_group_counts counts;
        choice->pairs = n_pairs += levels->levels[i].first_at;
        for (size_t k = 0; k < sets->n; k++)
            sets->parent[k] = bm_union_find_root(sets, (uint32_t)k);
        BM_TRY(bm_group_counts_of(sets->parent, sets->n, &counts, err));
        put_counts(p, &counts, choice);
    }
    return BM_OK;
}

static bm_status what_if_end(bm_page *p, bm_error *err)
{
    bm_page_what_if *w = &p->what_if;
    if (w->n_thresholds > 0) {
        double thresholds[BM_PAGE_CHOICES];
        bm_pair_levels levels;
        for (size_t i = 0; i < w->n_thresholds; i++)
            thresholds[i] = w->thresholds[i].threshold;
        BM_TRY(bm_pair_levels_open(thresholds, w->n_thresholds, &levels, err));
        const bm_status status = count_levels(p, &levels, err);
        bm_pair_levels_reset(&levels);
        BM_TRY(status);
    }
    if (w->why_no_stars != NULL || !goes_by_length(p))
        return BM_OK;
    BM_TRY(bm_new(&w->lengths, w->ids.n, err));
    for (size_t i = 0; i < w->ids.n; i++)
        w->lengths[i] = BM_PAGE_NO_LENGTH;
    return BM_OK;
}

static bm_status find_stars(bm_page *p, bm_error *err)
{
    bm_page_what_if *w = &p->what_if;
    const size_t n = w->ids.n;
    bm_listed_order order;
    bm_keep_rank rank = {0};
    bm_group_counts counts;
    uint32_t *labels = NULL;
    uint64_t *lengths = NULL; /* lengths, by index in the order */
    BM_TRY(bm_listed_docs_order(&w->docs, &p->dir, &w->ids, &order, err));
    bm_listed_docs_reset(&w->docs); /* no longer needed */
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new(&labels, n, err));
    BM_TRY_OUT(bm_new(&lengths, n, err));
    for (size_t i = 0; w->lengths != NULL && i < n; i++)
        lengths[i] = w->lengths[order.docs[i]];
    const bm_keep_column sizes = {.numbers = lengths, .width = sizeof *lengths};
    BM_TRY_OUT(bm_keep_rank_of_rule(p->keep, &sizes, n, &rank, err));
    bm_listed_order_map(&order, w->pairs, w->n_pairs);
    BM_TRY_OUT(
        bm_pair_stars((bm_pair_list){w->pairs, w->n_pairs, n}, &rank, order.rep, labels, err));
    BM_TRY_OUT(bm_group_counts_of(labels, n, &counts, err));
    w->stars = (bm_page_choice){.threshold = p->threshold, .pairs = w->n_pairs};
    put_counts(p, &counts, &w->stars);
out:
    bm_keep_rank_reset(&rank);
    bm_listed_order_reset(&order);
    bm_free_all(labels, lengths);
    return status;
}

bm_status bm_page_what_if_stars(bm_page *p, bm_error *err)
{
    bm_page_what_if *w = &p->what_if;
    for (size_t i = 0; w->lengths != NULL && i < w->ids.n; i++)
        if (w->lengths[i] == BM_PAGE_NO_LENGTH)
            w->why_no_stars = "stars begin with the longest or shortest texts, and not all of "
                              "the inputs are there to tell how long they are";
    return w->why_no_stars == NULL ? find_stars(p, err) : BM_OK;
}

/* --- all tables --- */

static bm_status add_pair(void *ctx, const bm_pair_file *row, bm_error *err)
{
    reading *r = ctx;
    const double jaccard = row->similarity;
    if (!isnan(jaccard))
        count_similarity(r->page, jaccard);
    /* Leave out identical texts, because they would show no difference. */
    if (jaccard < 1)
        BM_TRY(page_least_offer(
            &r->near, &(bm_page_offer){row->id_a, row->id_b, jaccard, jaccard, false}, err));
    return what_if_pair(r->page, row->id_a, row->id_b, jaccard, err);
}

static bm_status walk_tables(reading *r, bm_error *err)
{
    bm_page *p = r->page;
    BM_TRY(bm_table_budget(p->settings, &r->budget, err));
    BM_TRY(bm_result_rows(&p->dir, BM_TABLE_REMOVED, first_walk, r, err));
    BM_TRY(bm_result_groups(&p->dir, add_group, r, err));
    if (p->n_groups > 0 || (p->against && r->chained.n > 0))
        BM_TRY(bm_result_groups(&p->dir, add_ids, r, err));
    if (p->n_groups > 0)
        BM_TRY(bm_result_rows(&p->dir, BM_TABLE_REMOVED, last_walk, r, err));
    what_if_begin(p);
    if (p->has_pairs)
        BM_TRY(bm_result_pairs(&p->dir, add_pair, r, err));
    BM_TRY(page_least_show(&r->chained, p, &p->chained, err));
    BM_TRY(page_least_show(&r->near, p, &p->near, err));
    BM_TRY(page_least_show(&r->sample, p, &p->sample, err));
    return what_if_end(p, err);
}

bm_status bm_page_read_tables(bm_page *p, bm_error *err)
{
    reading r = {.page = p,
                 .chained = {.most = p->options->pairs},
                 .near = {.most = p->options->pairs},
                 .sample = {.most = p->options->sample},
                 .draws = p->options->sample_seed};
    const bm_status status = walk_tables(&r, err);
    page_least_reset(&r.chained);
    page_least_reset(&r.near);
    page_least_reset(&r.sample);
    bm_id_set_reset(&r.hubs);
    bm_id_set_reset(&r.keys);
    bm_free(r.group_of);
    return status;
}

/* --- labels of the sample --- */

static bm_status add_label(bm_page *p, const bm_line_file *lines, bm_error *err)
{
    const char *tab = memchr(lines->text, '\t', lines->len);
    const size_t id_len = tab != NULL ? (size_t)(tab - lines->text) : lines->len;
    const bm_str label = {tab != NULL ? tab + 1 : "", tab != NULL ? lines->len - id_len - 1 : 0};
    const bool right = bm_json_scan_is(label, "right");
    if (lines->len == 0 || (lines->number == 1 && id_len == 2 && memcmp(lines->text, "id", 2) == 0))
        return BM_OK;
    if (!right && !bm_json_scan_is(label, "wrong"))
        return bm_fail_at(err, BM_ERR_INPUT, lines->name, lines->number,
                          "no label after the id (a tab, and right or wrong)");
    const size_t n = bm_tsv_unescape(lines->text, id_len);
    for (size_t i = 0; n != SIZE_MAX && i < p->sample.n; i++) {
        bm_page_pair *pair = &p->sample.rows[i];
        const bm_str id = bm_page_id(p, pair->b);
        if (id.len != n || memcmp(id.data, lines->text, n) != 0)
            continue;
        if (pair->label != NULL)
            return bm_fail_at(err, BM_ERR_INPUT, lines->name, lines->number,
                              "the id '%.*s' occurs twice", (int)(n < 200 ? n : 200), lines->text);
        pair->label = right ? "right" : "wrong";
        return BM_OK;
    }
    return bm_fail_at(err, BM_ERR_INPUT, lines->name, lines->number,
                      "the id '%.*s' is not in the sample (of the same `sample` and `sample_seed`)",
                      (int)(id_len < 200 ? id_len : 200), lines->text);
}

bm_status bm_page_read_labels(bm_page *p, bm_error *err)
{
    const char *path = p->options->sample_labels;
    bm_line_file lines = {.name = path,
                          .longest = BM_TABLE_ROW_MAX,
                          .too_long = BM_ERR_INPUT,
                          .callbacks = &p->settings->callbacks};
    bool more = true;
    if (path == NULL)
        return BM_OK;
    BM_TRY(bm_open_given(path, BM_ERR_INPUT, &lines.fd, err));
    bm_status status = BM_OK;
    for (;;) {
        BM_TRY_OUT(bm_line_file_next(&lines, &more, err));
        if (!more)
            break;
        if (lines.len > 0 && lines.text[lines.len - 1] == '\r')
            lines.len--;
        BM_TRY_OUT(add_label(p, &lines, err));
    }
out:
    bm_line_file_reset(&lines);
    close(lines.fd);
    return status;
}
