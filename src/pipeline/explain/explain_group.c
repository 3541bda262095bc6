/* explain_group.c -- from a directory that dedup wrote to the members of one group.
 *
 * groups.jsonl is walked once to find the group and once more to load it: ids are looked at where
 * they lie, so only one group is ever held.
 *
 * Tests: tests/unit/jobs/test_job_explain.c, tests/cli/cases/explain.sh
 * Tests: tests/fault/explain_calls.c */
#include "pipeline/explain/explainer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/open_file.h"
#include "io/manifest/listed.h"
#include "io/json/json_read.h"
#include "io/results/group_file.h"
#include "sketch/scheme.h"
#include "model/file_names.h"
#include "model/option_names.h"

void bm_explain_path(const bm_explainer *e, const char *name, char path[4096])
{
    snprintf(path, 4096, "%s/%s", e->options->path, name);
}

/* --- the report --- */

static bm_status unknown_word(const bm_explainer *e, const char *field, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(e->manifest), 0,
                      "%s is not known to this version", field);
}

/* The value of a word that the report holds under "parameters". */
static bm_status read_word(const bm_explainer *e, const bm_json_doc *doc, bm_option option,
                           unsigned *value, bm_error *err)
{
    bm_str word;
    char path[64];
    snprintf(path, sizeof path, "parameters.%s", bm_option_field(option));
    BM_TRY(bm_json_doc_string(doc, path, &word, err));
    if (!bm_option_value(option, word.data, word.len, value))
        BM_TRY(unknown_word(e, path, err));
    return BM_OK;
}

static bm_status read_words(bm_explainer *e, const bm_json_doc *doc, bm_error *err)
{
    unsigned verify = 0, cluster = 0, candidates = 0;
    bm_status status = BM_OK;
    BM_TRY_OUT(read_word(e, doc, BM_OPTION_VERIFY, &verify, err));
    if (verify == BM_VERIFY_AUTO)
        BM_TRY_OUT(unknown_word(e, "parameters.verify", err));
    BM_TRY_OUT(read_word(e, doc, BM_OPTION_CLUSTER, &cluster, err));
    status = read_word(e, doc, BM_OPTION_CANDIDATES, &candidates, err);
out:
    bm_find_options_init(&e->find);
    e->find.verify = (bm_verify)verify;
    e->star = cluster == BM_CLUSTER_STAR;
    e->find.candidates = (bm_candidate_rule)candidates;
    return status;
}

static bm_status read_plan(bm_explainer *e, const bm_json_doc *doc, bm_error *err)
{
    const bm_provenance *p;
    const bool all = e->find.candidates != BM_CANDIDATES_LSH;
    uint64_t bands = 0, rows = 0;
    BM_TRY(bm_manifest_provenance(e->manifest, &p, err));
    BM_TRY(bm_json_doc_double(doc, "parameters.threshold", &e->find.bands.threshold, err));
    if (!all)
        BM_TRY(bm_json_doc_uint(doc, "plan.bands", &bands, err));
    if (!all)
        BM_TRY(bm_json_doc_uint(doc, "plan.rows", &rows, err));
    const bm_scheme_ops *scheme = bm_scheme_find(p->texts[BM_ROW_SCHEME]);
    const uint64_t perms = p->numbers[BM_ROW_PERMS], seed = p->numbers[BM_ROW_SEED];
    if (scheme == NULL)
        return unknown_word(e, "provenance.scheme", err);
    if (!(e->find.bands.threshold > 0 && e->find.bands.threshold <= 1))
        return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(e->manifest), 0,
                          "parameters.threshold is %g (more than 0, at most 1)",
                          e->find.bands.threshold);
    if (seed > UINT32_MAX)
        return unknown_word(e, "provenance.seed", err);
    if (perms < 1 || perms > BM_PERMS_MAX || bands > perms || rows > perms ||
        bands * rows > perms || (bands == 0) != all || (rows == 0) != all)
        return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(e->manifest), 0,
                          "%" PRIu64 " bands of %" PRIu64 " rows from %" PRIu64 " permutations",
                          bands, rows, perms);
    e->find.sketch = (bm_sketch_options){
        .perms = (uint32_t)perms, .seed = (uint32_t)seed, .scheme = scheme->scheme};
    e->find.bands.bands = (uint32_t)bands;
    e->find.bands.rows = (uint32_t)rows;
    return BM_OK;
}

bm_status bm_explain_check_output(const bm_explainer *e, const char *name, bm_error *err)
{
    char path[4096];
    bm_explain_path(e, name, path);
    bm_file_range whole = {-1, path, 0, UINT64_MAX};
    BM_TRY(bm_open_regular(path, BM_ERR_FORMAT, &whole.fd, err));
    bm_status status = bm_listed_check(e->manifest, name, &whole, err);
    close(whole.fd);
    return status;
}

bm_status bm_explain_open(bm_explainer *e, bm_error *err)
{
    const char *dir = e->options->path;
    bm_json_doc *doc = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_manifest_open_dir(dir, e->settings->memory, &e->manifest, err));
    if (strcmp(bm_manifest_kind(e->manifest), "dedup") != 0)
        return bm_fail_at(err, BM_ERR_FORMAT, dir, 0,
                          "it holds '%s' (a directory that dedup wrote)",
                          bm_manifest_kind(e->manifest));
    BM_TRY_OUT(bm_json_doc_open(bm_manifest_path(e->manifest), &doc, err));
    BM_TRY_OUT(read_words(e, doc, err));
    status = read_plan(e, doc, err);
out:
    bm_json_doc_close(doc);
    return status == BM_OK ? bm_explain_check_output(e, BM_FILE_GROUPS, err) : status;
}

/* --- the groups --- */

/* Ids, and the groups that they were found in; 0: not yet. */
typedef struct search {
    const bm_str *ids;
    uint64_t *groups;
    size_t n;
} search;

/* A bm_group_member_fn. */
static bm_status look(void *ctx, const bm_group_file *file, bm_str id, bm_error *err)
{
    const search *s = ctx;
    (void)err;
    for (size_t i = 0; i < s->n; i++)
        if (id.len == s->ids[i].len && memcmp(id.data, s->ids[i].data, id.len) == 0)
            s->groups[i] = file->group;
    return BM_OK;
}

static bool all_found(const search *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->groups[i] == 0)
            return false;
    return true;
}

bm_status bm_explain_find(const bm_explainer *e, const bm_str *ids, size_t n, uint64_t *groups,
                          bm_error *err)
{
    char path[4096];
    bm_group_file file;
    bm_buf id = {0};
    bool more = true;
    search s = {.ids = ids, .groups = groups, .n = n};
    memset(groups, 0, n * sizeof *groups);
    bm_explain_path(e, BM_FILE_GROUPS, path);
    bm_status status = bm_group_file_open(path, e->settings->memory, &file, err);
    file.lines.callbacks = &e->settings->callbacks;
    while (status == BM_OK && more && !all_found(&s)) {
        status = bm_group_file_next(&file, &more, err);
        if (status == BM_OK && more)
            status = bm_group_file_members(&file, look, &s, &id, err);
    }
    bm_group_file_close(&file);
    bm_buf_reset(&id);
    return status;
}

/* A bm_group_member_fn. */
static bm_status add_member(void *ctx, const bm_group_file *file, bm_str id, bm_error *err)
{
    bm_explainer *e = ctx;
    const size_t before = e->ids.n;
    uint32_t number;
    BM_TRY(bm_id_set_add(&e->ids, id, &number, err));
    if (e->ids.n == before)
        return bm_fail_at(err, BM_ERR_FORMAT, file->lines.name, file->lines.number,
                          "a document is twice in the group");
    return BM_OK;
}

/* Members and the kept one of the row read last. */
static bm_status take_group(bm_explainer *e, bm_group_file *file, bm_buf *id, bm_error *err)
{
    BM_TRY(bm_group_file_members(file, add_member, e, id, err));
    e->kept = BM_ID_NONE;
    if (file->known)
        return bm_buf_add(&e->known, id->data, id->len, err);
    e->kept = bm_id_set_find(&e->ids, (bm_str){id->data, id->len});
    return e->kept != BM_ID_NONE
               ? BM_OK
               : bm_fail_at(err, BM_ERR_FORMAT, file->lines.name, file->lines.number,
                            "the kept document is not in the group");
}

bm_status bm_explain_load(bm_explainer *e, uint64_t number, bm_error *err)
{
    char path[4096];
    bm_group_file file;
    bm_buf id = {0};
    bool more = true;
    bm_explain_path(e, BM_FILE_GROUPS, path);
    bm_status status = bm_group_file_open(path, e->settings->memory, &file, err);
    file.lines.callbacks = &e->settings->callbacks;
    while (status == BM_OK && more && file.group != number)
        status = bm_group_file_next(&file, &more, err);
    if (status == BM_OK && !more)
        status = bm_fail(err, BM_ERR_USAGE, "no group %" PRIu64 " (%s has %" PRIu64 ")", number,
                         e->options->path, file.group);
    if (status == BM_OK)
        status = take_group(e, &file, &id, err);
    e->group = number;
    bm_group_file_close(&file);
    bm_buf_reset(&id);
    return status;
}
