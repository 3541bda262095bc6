/* index_settings.h -- what is fixed when an index is built, as the JSON text that stands in it
 * (bm_store_facts.settings), and back.
 *
 *     {"schema":1, "tool":"bandmill", "kind":"index", "version":…,
 *      "provenance":{…}, "parameters":{"threshold":…, "recall":…, "store":…}, "plan":{…}}
 *
 * The members are those of a manifest (output/manifest.h). Of the provenance only what says how
 * texts are cut and signed is fixed: how the first inputs were read is told, no more. */
#ifndef BM_INDEX_INDEX_SETTINGS_H
#define BM_INDEX_INDEX_SETTINGS_H

#include "job/job_context.h"
#include "store/store.h"

#define BM_INDEX_KIND "index" /* of its settings, and of what `info` says */

/* The text, for a job whose plan is settled. The caller's (bm_buf_reset), also on failure. */
bm_status bm_index_settings_write(const bm_job_context *job, bm_buf *out, bm_error *err);
/* Facts of a new index; facts->settings borrows `text`. */
bm_store_facts bm_index_facts(const bm_settings *settings, const bm_buf *text);
/* What the index at `path` has fixed into settings that are checked: text, sketch, hash, bands, plan, perms_used
 * and store. BM_ERR_FORMAT: not what this version knows (or Unicode tables of another version). BM_ERR_USAGE: the settings asked for
 * something else, and the field is named. */
bm_status bm_index_settings_take(const bm_store_facts *facts, const char *path,
                                 bm_settings *settings, bm_error *err);
/* Words of a signature that are computed: as many as its bands need where only sets are kept. 0: all. */
uint32_t bm_index_perms_used(const bm_settings *settings);

#endif
