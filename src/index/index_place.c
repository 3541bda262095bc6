/* SPDX-License-Identifier: Apache-2.0 */
/* index_place.c -- see index_place.h.
 *
 * Tests: tests/cli/cases/index_build.sh, tests/cli/cases/index_remove.sh,
 *        tests/cli/cases/index_usage.sh */
#include "index/index_place.h"

#include <bandmill/version.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "job/recipe.h"
#include "job/report_file.h"
#include "job/settings.h"
#include "json/json_scan.h"
#include "json/json_write.h"
#include "model/file_names.h"
#include "model/scheme_facts.h"
#include "output/manifest.h"
#include "sketch/scheme.h"

/* === index settings ===
 *
 * The settings are written with the functions for reports, and read with the functions for
 * manifests. */

uint32_t bm_index_perms_used(const bm_settings *settings)
{
    return settings->index.store == BM_INDEX_SETS
               ? bm_scheme_words(&settings->sketch, settings->plan.bands * settings->plan.rows)
               : 0;
}

bm_status bm_index_settings_write(const bm_job_context *job, bm_buf *out, bm_error *err)
{
    bm_json json = {0};
    bm_json_begin_object(&json);
    bm_json_key_uint(&json, "schema", BM_REPORT_SCHEMA);
    bm_json_key_text(&json, "tool", "bandmill");
    bm_json_key_text(&json, "kind", BM_INDEX_KIND);
    bm_json_key_text(&json, "version", bm_version()->version);
    bm_report_settings(&json, job);
    bm_json_end_object(&json);
    bm_status status = bm_json_finish(&json, err);
    *out = json.buf;
    return status;
}

bm_store_facts bm_index_facts(const bm_settings *settings, const bm_buf *text)
{
    const bool sets = settings->index.store == BM_INDEX_SETS;
    return (bm_store_facts){
        .kind = sets ? BM_STORE_SETS : BM_STORE_SIGNATURES,
        .bands = settings->plan.bands,
        .words = sets ? 0 : bm_scheme_row_uints(settings->sketch.scheme, settings->sketch.perms),
        .settings = {text->data, text->len}};
}

/* --- reading --- */

static bm_status bad(const char *path, const char *field, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_FORMAT, path, 0,
                      "the settings of the index have no %s that this version knows", field);
}

typedef struct recorded_plan {
    double threshold, recall; /* 0 ... 1 */
    uint64_t bands, rows;
    bm_str store; /* the word, in quotes */
} recorded_plan;

static const bm_json_row plan_rows[] = {
    {"parameters.threshold", BM_MEMBER_DOUBLE, .offset = offsetof(recorded_plan, threshold)},
    {"parameters.recall", BM_MEMBER_DOUBLE, .offset = offsetof(recorded_plan, recall)},
    {"plan.bands", BM_MEMBER_UINT, .offset = offsetof(recorded_plan, bands), .least = 1,
     .most = BM_PERMS_MAX},
    {"plan.rows", BM_MEMBER_UINT, .offset = offsetof(recorded_plan, rows), .least = 1,
     .most = BM_PERMS_MAX},
    {"parameters.store", BM_MEMBER_STRING, .offset = offsetof(recorded_plan, store)}};

static bm_status bad_row(void *manifest, const bm_json_row *row, bm_str value, const char *expected,
                         bm_error *err)
{
    (void)value, (void)expected;
    return bad(bm_manifest_path(manifest), strchr(row->name, '.') + 1, err);
}

/* Read threshold, recall, bands and rows into *out, and resolve the plan. *store becomes the word
 * of parameters.store, including its quotes. */
static bm_status read_plan(bm_manifest *manifest, bm_settings *out, bm_str *store, bm_error *err)
{
    const bm_json_reader from = {
        .doc = bm_manifest_doc(manifest), .context = manifest, .bad = bad_row};
    recorded_plan plan;
    BM_TRY(bm_json_read(&from, plan_rows, sizeof plan_rows / sizeof plan_rows[0], &plan, err));
    for (size_t i = 0; i < 2; i++) {
        const double share = i == 0 ? plan.threshold : plan.recall;
        if (!(share >= 0 && share <= 1))
            return bad_row(manifest, &plan_rows[i], (bm_str){0}, NULL, err);
    }
    if (plan.bands * plan.rows > out->sketch.perms)
        return bad(bm_manifest_path(manifest), "rows", err);
    *store = plan.store;
    out->bands = (bm_band_options){.threshold = plan.threshold,
                                   .recall = plan.recall,
                                   .bands = (uint32_t)plan.bands,
                                   .rows = (uint32_t)plan.rows};
    return bm_settings_plan(out, err);
}

/* Texts are cut by the Unicode tables. Documents cut by other tables would not be found, so the
 * tables must be the same. */
static bm_status check_unicode(const bm_manifest *manifest, bm_error *err)
{
    const bm_provenance *p;
    const bm_version_info *here = bm_version();
    BM_TRY(bm_manifest_provenance(manifest, &p, err));
    const bool ours = strcmp(p->unicode, here->unicode) == 0;
    if (ours && strcmp(p->utf8proc_unicode, here->utf8proc_unicode) == 0)
        return BM_OK;
    return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(manifest), 0,
                      "its texts were cut by Unicode %s, and this program knows %s (build it anew)",
                      ours ? p->utf8proc_unicode : p->unicode,
                      ours ? here->utf8proc_unicode : here->unicode);
}

static bm_status read_fixed(bm_manifest *manifest, const bm_store_facts *facts, bm_settings *out,
                            bm_error *err)
{
    bm_str word = {0};
    unsigned store = 0;
    const char *path = bm_manifest_path(manifest);
    BM_TRY(strcmp(bm_manifest_kind(manifest), BM_INDEX_KIND) == 0 ? check_unicode(manifest, err)
                                                                  : bad(path, "kind", err));
    BM_TRY(bm_recipe_signed(manifest, out, err));
    BM_TRY(read_plan(manifest, out, &word, err));
    if (!bm_option_value(BM_OPTION_STORE, word.data + 1, word.len - 2, &store))
        return bad(path, "store", err);
    out->index.store = (bm_index_store)store;
    out->perms_used = bm_index_perms_used(out);
    const bm_store_facts wanted = bm_index_facts(out, &(bm_buf){0});
    return wanted.kind == facts->kind && wanted.bands == facts->bands &&
                   wanted.words == facts->words
               ? BM_OK
               : bad(path, "bands and words", err);
}

static bool is_given(const char *hash_name)
{
    return strcmp(hash_name, BM_HASH_GIVEN) == 0;
}

/* Return the name of the hash as a string that is never freed. fixed->hash_name is freed with the
 * manifest. */
static const char *hash_name(const bm_settings *fixed)
{
    return is_given(fixed->hash_name) ? BM_HASH_GIVEN
                                      : bm_option_name(BM_OPTION_HASH, fixed->text.hash);
}

bm_status bm_index_settings_load(const bm_store_facts *facts, const char *path,
                                 bm_settings *settings, bm_error *err)
{
    bm_manifest *manifest = NULL;
    bm_settings fixed = *settings;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_manifest_of_text(path, facts->settings, &manifest, err));
    BM_TRY_OUT(read_fixed(manifest, facts, &fixed, err));
    fixed.hash_name = hash_name(&fixed);
    BM_TRY_OUT(bm_recorded_options_check_index(settings, &fixed, path, err));
    if (settings->hash_name != NULL && is_given(settings->hash_name) != is_given(fixed.hash_name))
        BM_TRY_OUT(bm_fail_field(err, "format",
                                 "shingles are hashed by %s here, in the index %s by %s",
                                 settings->hash_name, path, fixed.hash_name));
    status = bm_settings_keep_stop_words(&fixed, err);
out:
    bm_manifest_close(manifest);
    if (status == BM_OK)
        *settings = fixed;
    return status;
}

#define MIB ((uint64_t)1 << 20)

static const char *const files[] = {BM_FILE_INDEX_DATA, BM_FILE_INDEX_LOCK, BM_FILE_INDEX_RECORD,
                                    NULL};

const bm_out_kind bm_index_kind = {.not_one = "is not an index", .files = files, .is = bm_store_is};

static uint64_t within(uint64_t bytes, uint64_t least, uint64_t most)
{
    return bytes < least ? least : bytes > most ? most : bytes;
}

bm_index_shares bm_index_share(uint64_t memory)
{
    return (bm_index_shares){.store = within(memory / 4, 4 * MIB, 4096 * MIB),
                             .gather = within(memory / 16, MIB, 128 * MIB),
                             .search = within(memory / 16, MIB, 256 * MIB)};
}

static bool is_cancelled(void *ctx)
{
    bm_job_context *job = ctx;
    return bm_meter_check(&job->meter, NULL) != BM_OK;
}

bm_store_cfg bm_index_store_cfg(bm_job_context *job, bm_store_mode mode)
{
    const bm_settings *s = job->settings;
    return (bm_store_cfg){.mode = mode,
                          .memory = bm_index_share(s->memory).store,
                          .temp_dir = s->resources.temp_dir,
                          .cancelled = is_cancelled,
                          .cancelled_ctx = job};
}

bm_status bm_index_find(const char *path, char *out, size_t cap, bm_error *err)
{
    struct stat info;
    bool is;
    if (stat(path, &info) != 0)
        return bm_fail_errno(err, errno, path, "cannot open the index");
    BM_TRY(bm_store_is(path, &is, err));
    if (!is)
        return bm_fail_at(err, BM_ERR_FORMAT, path, 0,
                          "is not an index (a directory that index build made)");
    if (lstat(path, &info) != 0 || !S_ISLNK(info.st_mode)) {
        snprintf(out, cap, "%s", path);
        return BM_OK;
    }
    char *real = realpath(path, NULL);
    if (real == NULL)
        return bm_fail_errno(err, errno, path, "cannot open the index");
    snprintf(out, cap, "%s", real);
    free(real);
    return BM_OK;
}

/* Lock an index that is about to be replaced, so that no other process adds to it. *fd becomes its
 * open directory, or -1 if there is no index. */
static bm_status lock_old(const char *path, int *fd, bm_error *err)
{
    *fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*fd < 0)
        return errno == ENOENT ? BM_OK : bm_fail_errno(err, errno, path, "cannot open the index");
    if (flock(*fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return bm_fail_at(err, BM_ERR_LOCKED, path, 0, "another process writes to the index");
    return BM_OK;
}

bm_status bm_index_work_open(const bm_settings *settings, bool replaces, bool lock,
                             bm_index_work *out, bm_error *err)
{
    bm_out_existing existing = bm_out_existing_within(replaces, settings->memory);
    existing.kind = &bm_index_kind;
    *out = (bm_index_work){.old = -1};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_out_dir_open(settings->output.path, existing, &out->dir, err));
    if (replaces && lock)
        BM_TRY_OUT(lock_old(settings->output.path, &out->old, err));
    status =
        bm_out_dir_reserve(out->dir, files, sizeof files / sizeof files[0] - 1, &out->folder, err);
out:
    if (status != BM_OK)
        bm_index_work_close(out);
    return status;
}

void bm_index_work_close(bm_index_work *work)
{
    bm_out_dir_close(work->dir);
    bm_free(work->folder);
    if (work->old >= 0)
        close(work->old);
    *work = (bm_index_work){.old = -1};
}
