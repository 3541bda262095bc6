/* explain_group.c -- from a directory that dedup wrote to the members of one group.
 *
 * groups.jsonl is walked once to find the group and once more to load it: ids are looked at where
 * they lie, so only one group is ever held.
 *
 * Tests: tests/unit/jobs/test_job_explain.c, tests/cli/cases/explain.sh
 * Tests: tests/fault/explain_calls.c */
#include "report/explainer.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/open_file.h"
#include "output/listed.h"
#include "results/result_dir.h"
#include "sketch/scheme.h"
#include "model/file_names.h"

/* --- the report --- */

static bm_status check_plan(const bm_explainer *e, uint64_t bands, uint64_t rows, bm_error *err)
{
    const bm_provenance *p;
    const bool all = e->find.candidates != BM_CANDIDATES_LSH;
    BM_TRY(bm_manifest_provenance(e->dir.manifest, &p, err));
    const uint64_t perms = p->numbers[BM_ROW_PERMS];
    if (perms < 1 || perms > BM_PERMS_MAX || bands > perms || rows > perms ||
        bands * rows > perms || (bands == 0) != all || (rows == 0) != all)
        return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(e->dir.manifest), 0,
                          "%" PRIu64 " bands of %" PRIu64 " rows from %" PRIu64 " permutations",
                          bands, rows, perms);
    return BM_OK;
}

/* How the pairs of the directory were found. */
static bm_status read_report(bm_explainer *e, bm_error *err)
{
    bm_result_facts f;
    const bm_provenance *p;
    uint64_t bands = 0, rows = 0;
    BM_TRY(bm_manifest_provenance(e->dir.manifest, &p, err));
    const bm_scheme_ops *scheme = bm_scheme_find(p->texts[BM_ROW_SCHEME]);
    const uint64_t seed = p->numbers[BM_ROW_SEED];
    bm_find_options_init(&e->find);
    bm_result_facts_begin(&f, e->dir.manifest, err);
    e->find.verify = (bm_verify)bm_result_facts_word(&f, BM_OPTION_VERIFY);
    if (e->find.verify == BM_VERIFY_AUTO)
        bm_result_facts_unknown(&f, "parameters.verify");
    e->star = bm_result_facts_word(&f, BM_OPTION_CLUSTER) == BM_CLUSTER_STAR;
    if (bm_manifest_count(e->dir.manifest, "divided", &e->divided, NULL) != BM_OK)
        e->divided = 0; /* none was */
    e->find.candidates = (bm_candidate_rule)bm_result_facts_word(&f, BM_OPTION_CANDIDATES);
    if (e->find.candidates == BM_CANDIDATES_LSH) {
        bands = bm_result_facts_uint(&f, "plan.bands");
        rows = bm_result_facts_uint(&f, "plan.rows");
    }
    if (scheme == NULL)
        bm_result_facts_unknown(&f, "provenance.scheme");
    e->find.bands.threshold = bm_result_facts_threshold(&f);
    if (seed > UINT32_MAX)
        bm_result_facts_unknown(&f, "provenance.seed");
    BM_TRY(bm_result_facts_end(&f));
    BM_TRY(check_plan(e, bands, rows, err));
    e->find.sketch = (bm_sketch_options){.perms = (uint32_t)p->numbers[BM_ROW_PERMS],
                                         .seed = (uint32_t)seed,
                                         .scheme = scheme->scheme};
    e->find.bands.bands = (uint32_t)bands;
    e->find.bands.rows = (uint32_t)rows;
    return BM_OK;
}

/* groups.jsonl must be as the report lists it, before its ids are searched. */
static bm_status check_groups(const bm_explainer *e, bm_error *err)
{
    char *path = NULL;
    bm_file_range whole = {-1, NULL, 0, UINT64_MAX};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_manifest_beside(e->dir.manifest, BM_FILE_GROUPS, &path, err));
    whole.shown = path;
    BM_TRY_OUT(bm_open_regular(path, BM_ERR_FORMAT, &whole.fd, err));
    status = bm_listed_check(e->dir.manifest, BM_FILE_GROUPS, &whole, err);
    close(whole.fd);
out:
    bm_free(path);
    return status;
}

bm_status bm_explain_open(bm_explainer *e, bm_error *err)
{
    const char *dir = e->options->path;
    BM_TRY(bm_manifest_open_dir(dir, e->settings->memory, &e->manifest, err));
    e->dir = (bm_result_dir){e->manifest, &e->settings->callbacks, e->settings->memory};
    BM_TRY(bm_result_check_kind(e->manifest, dir, err));
    BM_TRY(read_report(e, err));
    return check_groups(e, err);
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

/* A bm_result_group_fn. */
static bm_status look_in(void *ctx, bm_group_file *row, bool *stop, bm_error *err)
{
    bm_str kept;
    BM_TRY(bm_group_file_members(row, look, ctx, &kept, err));
    *stop = all_found(ctx);
    return BM_OK;
}

bm_status bm_explain_find(const bm_explainer *e, const bm_str *ids, size_t n, uint64_t *groups,
                          bm_error *err)
{
    search s = {.ids = ids, .groups = groups, .n = n};
    memset(groups, 0, n * sizeof *groups);
    return bm_result_groups(&e->dir, look_in, &s, err);
}

typedef struct load {
    bm_explainer *e;
    uint64_t wanted, last; /* groups */
} load;

/* A bm_result_group_fn: members and the kept one of the group that is wanted. */
static bm_status load_group(void *ctx, bm_group_file *file, bool *stop, bm_error *err)
{
    load *l = ctx;
    bm_explainer *e = l->e;
    bm_group_members members = {.ids = &e->ids, .most = UINT64_MAX};
    l->last = file->group;
    if (file->group != l->wanted)
        return BM_OK;
    *stop = true;
    BM_TRY(bm_group_file_load(file, &members, err));
    e->kept = members.kept;
    e->none = !file->known && members.kept == BM_ID_NONE;
    return file->known ? bm_buf_add(&e->known, members.kept_id.data, members.kept_id.len, err)
                       : BM_OK;
}

bm_status bm_explain_load(bm_explainer *e, uint64_t number, bm_error *err)
{
    load l = {.e = e, .wanted = number};
    e->group = number;
    BM_TRY(bm_result_groups(&e->dir, load_group, &l, err));
    return l.last == number
               ? BM_OK
               : bm_fail(err, BM_ERR_USAGE, "no group %" PRIu64 " (%s has %" PRIu64 ")", number,
                         e->options->path, l.last);
}
