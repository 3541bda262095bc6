/* SPDX-License-Identifier: Apache-2.0 */
/* job_explain.c -- explains why two documents are in one group, or what holds a group together.
 *
 *     report, groups.jsonl -> the group -> its pairs -> chain and cut, or bridges -> the answer
 *
 * Only one group is in memory: its ids and pairs, and its shingles if pairs must be computed again.
 * Threads are used while inputs are read and pairs are verified.
 *
 * Tests: tests/unit/jobs/test_job_explain.c, tests/cli/cases/explain.sh
 * Tests: tests/fault/explain_calls.c */
#include <bandmill/explain.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "model/file_names.h"
#include "base/sized_struct.h"
#include "report/explainer.h"

static bm_status check_options(const bm_explain_options *o, bm_error *err)
{
    if (o->path == NULL)
        return bm_fail_field(err, "path", "no input given (a directory that dedup wrote)");
    if ((unsigned)o->form > BM_EXPLAIN_DOT)
        return bm_enum_check("form", o->form, BM_EXPLAIN_DOT + 1, err);
    if (o->output.path == NULL && o->write == NULL)
        return bm_fail_field(err, "write", "no place for the answer given (`output` or `write`)");
    if ((o->id_b != NULL && o->id_a == NULL) || (o->id_a != NULL) == (o->group != 0))
        return bm_fail_field(err, "id_a",
                             "one id, two ids or a group are explained (one of the three)");
    return o->output.path == NULL
               ? BM_OK
               : bm_out_file_check(o->output.path, bm_out_existing_of(o->output.force), &o->path, 1,
                                   err);
}

/* --- documents that are in no group, or in different groups --- */

static const char *field_of(const bm_explainer *e, bm_str id)
{
    const char *b = e->options->id_b;
    return b != NULL && strlen(b) == id.len && memcmp(b, id.data, id.len) == 0 ? "id_b" : "id_a";
}

/* Check that the ids that are in no group (groups[i] is 0) are ids of documents. Only the inputs
 * show this, so the check also fails if they cannot be read. */
static bm_status find_missing(bm_explainer *e, const bm_str *ids, size_t n, const uint64_t *groups,
                              bm_error *err)
{
    bm_id_set wanted = {0};
    uint32_t number;
    bm_error inner = {0};
    char why[2100];
    bm_status status = BM_OK;
    for (size_t i = 0; i < n; i++) {
        if (groups[i] == 0)
            BM_TRY_OUT(bm_id_set_add(&wanted, ids[i], &number, &inner));
    }
    BM_TRY_OUT(bm_explain_sets_read(e->settings, e->manifest, e->options->streams[0], &wanted,
                                    &e->sets, &inner));
    for (uint32_t i = 0; i < wanted.n; i++) {
        bm_str id = bm_id_set_id(&wanted, i);
        if (e->sets.place[i] == BM_ID_NONE)
            BM_TRY_OUT(bm_fail_field(&inner, field_of(e, id),
                                     "no document '%.*s' (ids as the inputs have them)",
                                     (int)(id.len < 500 ? id.len : 500), id.data));
    }
out:
    if (status == BM_ERR_IO || status == BM_ERR_FORMAT || status == BM_ERR_INPUT) {
        bm_str id = bm_id_set_id(&wanted, 0);
        bm_error_format(&inner, why, sizeof why);
        status =
            bm_fail_field(&inner, field_of(e, id),
                          "'%.*s' is in no group: unknown, or like no other document (the inputs "
                          "cannot tell: %.500s)",
                          (int)(id.len < 300 ? id.len : 300), id.data, why);
    }
    if (status != BM_OK && err != NULL)
        *err = inner;
    bm_id_set_reset(&wanted);
    return status;
}

static void place_text(uint64_t group, char out[48])
{
    if (group == 0)
        snprintf(out, 48, "no group");
    else
        snprintf(out, 48, "group %" PRIu64, group);
}

static bm_status no_chain(bm_explainer *e, const bm_str *ids, const uint64_t *groups, bm_error *err)
{
    char a[48], b[48];
    if (groups[0] == 0 || groups[1] == 0)
        BM_TRY(find_missing(e, ids, 2, groups, err));
    place_text(groups[0], a);
    place_text(groups[1], b);
    return bm_fail(err, BM_NOT_FOUND, "no chain: '%.300s' is in %s, '%.300s' in %s%s",
                   e->options->id_a, a, e->options->id_b, b,
                   e->divided > 0 ? " (components that were too large were divided into stars)"
                                  : "");
}

/* --- the group --- */

/* Load the group of the only requested id. If the group keeps another of its documents, explain the
 * two together. */
static bm_status load_one(bm_explainer *e, bm_error *err)
{
    const bm_str id = {e->options->id_a, strlen(e->options->id_a)};
    uint64_t group;
    BM_TRY(bm_explain_find(e, &id, 1, &group, err));
    if (group == 0) {
        BM_TRY(find_missing(e, &id, 1, &group, err));
        return bm_fail(err, BM_NOT_FOUND, "'%.300s' is in no group: it is like no other document",
                       e->options->id_a);
    }
    BM_TRY(bm_explain_load(e, group, err));
    const uint32_t doc = bm_id_set_find(&e->ids, id);
    if (e->kept != BM_ID_NONE && doc != e->kept) {
        e->a = doc;
        e->b = e->kept;
    }
    return BM_OK;
}

static bm_status load_group(bm_explainer *e, bm_error *err)
{
    const bm_explain_options *o = e->options;
    if (o->group != 0)
        return bm_explain_load(e, o->group, err);
    if (o->id_b == NULL)
        return load_one(e, err);
    if (strcmp(o->id_a, o->id_b) == 0)
        return bm_fail_field(err, "id_b", "'%s' twice (two documents)", o->id_a);
    const bm_str ids[2] = {{o->id_a, strlen(o->id_a)}, {o->id_b, strlen(o->id_b)}};
    uint64_t groups[2];
    BM_TRY(bm_explain_find(e, ids, 2, groups, err));
    if ((groups[0] == 0 || groups[0] != groups[1]))
        return no_chain(e, ids, groups, err);
    BM_TRY(bm_explain_load(e, groups[0], err));
    e->a = bm_id_set_find(&e->ids, ids[0]);
    e->b = bm_id_set_find(&e->ids, ids[1]);
    return BM_OK;
}

/* Explain two copies: they are joined because they are copies. */
static bm_status explain_copies(bm_explainer *e, bm_error *err)
{
    bm_chain *chain = &e->answer.chain;
    BM_TRY(bm_new(&chain->docs, 2, err));
    BM_TRY(bm_new(&chain->pairs, 1, err));
    BM_TRY(bm_grow_array(&e->pairs, &e->cap_pairs, e->n_pairs + 1, err));
    e->pairs[e->n_pairs] = (bm_pair){e->a < e->b ? e->a : e->b, e->a < e->b ? e->b : e->a, 1};
    chain->docs[0] = e->a;
    chain->docs[1] = e->b;
    chain->pairs[0] = e->n_pairs;
    chain->n_links = 1;
    e->answer.similarity = 1;
    e->answer.cut.n_near = e->ids.n;
    BM_TRY(bm_explain_texts(e, err));
    return bm_explain_run(e, err);
}

static bm_status explain_chain(bm_explainer *e, bm_error *err)
{
    if (bm_explain_are_copies(e))
        return explain_copies(e, err);
    BM_TRY(bm_explain_similarity(e, err));
    BM_TRY(bm_shortest_chain(&e->answer.graph, e->a, e->b, &e->answer.chain, err));
    if (e->answer.chain.n_links == 0 && e->kept == BM_ID_NONE && !e->none)
        return bm_fail(err, BM_NOT_FOUND,
                       "no chain: known documents, such as '%.*s', join the two (group %" PRIu64
                       ")",
                       (int)(e->known.len < 300 ? e->known.len : 300), e->known.data, e->group);
    if (e->answer.chain.n_links == 0)
        return bm_fail_at(err, BM_ERR_FORMAT, e->options->path, 0,
                          "its pairs do not join the two, which are in its group %" PRIu64,
                          e->group);
    if (!e->star && e->find.verify != BM_VERIFY_CONTAINED && e->divided == 0)
        BM_TRY(bm_parting_threshold(&e->answer.graph, e->a, e->b, &e->answer.parts_above, err));
    BM_TRY(bm_min_cut(&e->answer.graph, e->a, e->b, &e->answer.cut, err));
    return bm_explain_run(e, err);
}

/* Merge copies into one node. If one of the copies was requested or is the kept document, it
 * represents them. */
static bm_status merge_copies(bm_explainer *e, bm_error *err)
{
    const bm_pair_list list = {e->pairs, e->n_pairs, e->ids.n};
    const uint32_t two[] = {e->a, e->b, e->kept};
    const bool chain = e->a != e->b;
    BM_TRY(bm_copies_find(list, chain ? two : two + 2, chain ? 3 : 1, &e->copies, err));
    e->n_pairs = bm_copies_merge(&e->copies, e->pairs, e->n_pairs);
    return BM_OK;
}

static bm_status explain_group(bm_explainer *e, bm_error *err)
{
    BM_TRY(load_group(e, err));
    BM_TRY(bm_explain_pairs(e, err));
    bm_meter_log(&e->context.meter, BM_LOG_INFO, "%s",
                 e->from_inputs ? "the pairs of the group were computed again from the inputs"
                 : bm_manifest_output(e->manifest, BM_FILE_PAIRS) != NULL
                     ? "the pairs of the group are those of pairs.tsv"
                     : "the pairs of the group are those of removed.tsv");
    bm_job_context_stage(&e->context, "group", "documents");
    BM_TRY(merge_copies(e, err));
    BM_TRY(bm_link_graph_init(&e->answer.graph, e->pairs, e->n_pairs, e->ids.n, err));
    e->answer.graph.weights = e->copies.n;
    BM_TRY(bm_meter_check(&e->context.meter, err));
    return e->a != e->b ? explain_chain(e, err)
                        : bm_bridges_find(&e->answer.graph, &e->answer.bridges, err);
}

/* --- the job --- */

static bm_status write_answer(bm_explainer *e, bm_error *err)
{
    const bm_explain_options *o = e->options;
    bm_rows rows = {.write = o->write, .write_ctx = o->write_ctx};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_rows_open(&rows, &o->output, err));
    status = bm_explain_write(e, &rows, err);
out:
    return bm_rows_end(&rows, status, err);
}

static bm_status fill_summary(const bm_explainer *e, bm_explain_summary *out, bm_error *err)
{
    bm_explain_summary summary = {.group = e->group,
                                  .documents = e->ids.n,
                                  .pairs = e->n_pairs,
                                  .from_inputs = e->from_inputs,
                                  .links = e->answer.chain.n_links,
                                  .cut = e->answer.cut.n,
                                  .weakest = NAN,
                                  .similarity = e->overlap.has_row ? e->overlap.row.coverage
                                                : e->cut.has_row   ? e->cut.jaccard
                                                                   : e->answer.similarity,
                                  .bridges = e->answer.bridges.n_bridges,
                                  .articulation_points = e->answer.bridges.n_articulation_points};
    if (e->answer.chain.n_links > 0)
        summary.weakest = e->pairs[e->answer.chain.pairs[e->answer.chain.weakest]].similarity;
    return bm_sized_write(&summary, BM_SIZED_TYPE(bm_explain_summary, articulation_points), out,
                          err);
}

static bm_status run_job(bm_explainer *e, bm_explain_summary *out, bm_error *err)
{
    BM_TRY(bm_job_context_open(e->settings, &e->context, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_explain_open(e, err));
    BM_TRY_OUT(bm_result_is_overlap(e->manifest)    ? bm_explain_overlap(e, err)
               : bm_result_is_of_units(e->manifest) ? bm_explain_cut(e, err)
                                                    : explain_group(e, err));
    BM_TRY_OUT(write_answer(e, err));
    status = fill_summary(e, out, err);
out:
    bm_chain_reset(&e->answer.chain);
    bm_cut_reset(&e->answer.cut);
    bm_buf_reset(&e->answer.run.text);
    bm_bridges_reset(&e->answer.bridges);
    bm_link_graph_reset(&e->answer.graph);
    bm_copies_reset(&e->copies);
    bm_explained_overlap_reset(&e->overlap);
    bm_explained_cut_reset(&e->cut);
    bm_explain_sets_reset(&e->sets);
    bm_id_set_reset(&e->ids);
    bm_buf_reset(&e->known);
    bm_free(e->pairs);
    bm_job_context_close(&e->context);
    bm_manifest_close(e->manifest);
    return status;
}

bm_status bm_explain(const bm_explain_options *options, bm_explain_summary *out, bm_error *err)
{
    bm_settings settings;
    bm_explain_options used = {0};
    BM_TRY(bm_settings_of_explain(options, &settings, err));
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_explain_options, callbacks), &used, err));
    BM_TRY(check_options(&used, err));
    if (out != NULL)
        BM_TRY(bm_sized_check(out, BM_SIZED_TYPE(bm_explain_summary, articulation_points), err));
    bm_explainer e = {
        .options = &used, .settings = &settings, .answer = {.similarity = NAN, .parts_above = NAN}};
    return run_job(&e, out, err);
}
