/* SPDX-License-Identifier: Apache-2.0 */
/* signature_inputs.c -- opens directories that `sign` wrote, takes settings from their manifests,
 * and reads their arrays.
 *
 * Tests: tests/cli/cases/dedup.sh, tests/cli/cases/numbered_signatures.sh,
 *        tests/cli/cases/staged.sh, tests/unit/jobs/test_jobs.c */
#include "jobs/pairing_inputs.h"

#include <inttypes.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "job/settings.h"
#include "model/counts.h"
#include "model/file_names.h"
#include "model/ids.h"
#include "model/option_words.h"
#include "model/scheme_facts.h"
#include "results/listed_order.h"
#include "results/result_dir.h"

/* === signature ids ===
 *
 * With --duplicate-ids number, `sign` writes X#N for a repeated id X. This code recovers the
 * original id X.
 *
 * Then the original ids of several directories are numbered again, together, as if all their inputs
 * were read at once. So commands that read these inputs again (filter, explain) see the same ids.
 *
 * Numbered ids are not marked. An id X#N counts as numbered if X occurs before it, and if N is the
 * next number for X. An original id that happens to have this form cannot be distinguished
 * (job_filter.c refuses it). A first pass over ids.txt collects the ids of the form X#N, and their
 * X. A second pass repeats the numbering. */

typedef struct signature_ids {
    bm_id_set known;      /* all ids of the form X#N in the directory, and their X */
    bool *seen;           /* for each id in `known`: has it occurred so far? */
    bm_next_numbers next; /* the next number for each repeated X */
    bm_buf scratch;
} signature_ids;

#define IDS_BLOCK 256u

static bm_status note(signature_ids *ids, bm_str id, bm_error *err)
{
    bm_str base;
    uint32_t number, place;
    if (!bm_numbered_id(id, &base, &number))
        return BM_OK;
    BM_TRY(bm_id_set_add(&ids->known, id, &place, err));
    return bm_id_set_add(&ids->known, base, &place, err);
}

/* Read all ids of the directory, and collect those of the form X#N. BM_ERR_IO, BM_ERR_FORMAT,
 * BM_ERR_NOMEM. */
static bm_status signature_ids_load(const bm_sign_dir *dir, signature_ids *out, bm_error *err)
{
    size_t ends[IDS_BLOCK];
    bm_buf text = {0};
    bm_status status = BM_OK;
    const uint64_t n_docs = bm_sign_dir_docs(dir);
    for (uint64_t at = 0; at < n_docs; at += IDS_BLOCK) {
        const size_t n = n_docs - at < IDS_BLOCK ? (size_t)(n_docs - at) : IDS_BLOCK;
        text.len = 0;
        BM_TRY_OUT(bm_sign_dir_ids(dir, at, n, &(bm_sign_ids){&text, ends}, err));
        for (size_t i = 0, begin = 0; i < n; begin = ends[i++])
            BM_TRY_OUT(note(out, (bm_str){text.data + begin, ends[i] - begin}, err));
    }
out:
    bm_buf_reset(&text);
    if (status != BM_OK || out->known.n == 0)
        return status;
    out->seen = bm_alloc_zero(out->known.n, sizeof *out->seen);
    return out->seen != NULL ? BM_OK : bm_fail_nomem(err, out->known.n);
}

/* Set *is to true if `number` is the number that `sign` would give now to a repetition of the id at
 * index `place`. */
static bm_status is_next(signature_ids *ids, uint32_t place, uint32_t number, bool *is,
                         bm_error *err)
{
    const bm_str base = bm_id_set_id(&ids->known, place);
    uint32_t *next;
    bm_buf *text = &ids->scratch;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_next_numbers_of(&ids->next, place, &next, err));
    for (; *next < number; (*next)++) {
        text->len = 0;
        BM_TRY_OUT(bm_buf_add(text, base.data, base.len, err));
        BM_TRY_OUT(bm_buf_add_format(text, err, "#%" PRIu32, *next));
        const uint32_t other = bm_id_set_find(&ids->known, (bm_str){text->data, text->len});
        /* no earlier document has this id, so `sign` would give this number */
        if (other == BM_ID_NONE || !ids->seen[other])
            break;
    }
out:
    *is = status == BM_OK && *next == number;
    return status;
}

/* Set *original to the original id of `id`, which is `id` itself or its beginning. Must be called
 * for all ids in order. BM_ERR_NOMEM. */
static bm_status signature_ids_original(signature_ids *ids, bm_str id, bm_str *original,
                                        bm_error *err)
{
    bm_str base;
    uint32_t number;
    bm_status status = BM_OK;
    *original = id;
    const uint32_t place = ids->known.n > 0 ? bm_id_set_find(&ids->known, id) : BM_ID_NONE;
    if (place == BM_ID_NONE)
        return BM_OK;
    if (bm_numbered_id(id, &base, &number)) {
        const uint32_t of = bm_id_set_find(&ids->known, base);
        bool is = false;
        if (ids->seen[of])
            status = is_next(ids, of, number, &is, err);
        if (is)
            *original = base;
    }
    ids->seen[place] = true;
    return status;
}

static void signature_ids_reset(signature_ids *ids)
{
    bm_id_set_reset(&ids->known);
    bm_next_numbers_reset(&ids->next);
    bm_buf_reset(&ids->scratch);
    bm_free(ids->seen);
    ids->seen = NULL;
}

/* === signature documents ===
 *
 * Adds signed documents to the job's table without reading their texts. Ids and sizes are in
 * ids.txt and the arrays of the directory; sources.tsv and skipped.tsv list the inputs and the
 * skipped records. The lines of documents are unknown. */

/* The inputs of one directory. They have the numbers first … first+n-1 among the job's inputs. */
typedef struct sources {
    const bm_sign_dir *dir;
    bm_job_context *context;
    uint32_t first, n;
    uint64_t *documents, *skipped; /* counts of documents and of skipped records per input */
    signature_ids ids;
} sources;

/* --- sources.tsv and skipped.tsv --- */

static bm_status read_sources(sources *s, bm_error *err)
{
    const bm_manifest *manifest = bm_sign_dir_manifest(s->dir);
    bm_source_column columns[] = {{.field = BM_SOURCES_DOCUMENTS, .rows = s->documents},
                                  {.field = BM_SOURCES_SKIPPED, .rows = s->skipped}};
    BM_TRY(bm_source_table_read(manifest, columns, 2, err));
    if (columns[0].sum != bm_sign_dir_docs(s->dir))
        return bm_fail_at(err, BM_ERR_FORMAT, bm_sign_dir_path(s->dir), 0,
                          BM_FILE_SOURCES " counts %" PRIu64 " documents (the manifest %" PRIu64
                                          ")",
                          columns[0].sum, bm_sign_dir_docs(s->dir));
    return bm_manifest_compare_count(manifest, "skipped", columns[1].sum, BM_FILE_SOURCES, err);
}

typedef struct skipping {
    sources *s;
    bm_source_walk rows;
    uint64_t left, line; /* number of rows still expected; line of the last row read */
} skipping;

/* A bm_result_row_fn. Adds a skipped record to the job's table. */
static bm_status add_skipped(void *ctx, const bm_tsv_table *row, bm_error *err)
{
    skipping *k = ctx;
    const bm_str reason = row->fields[BM_SKIPPED_REASON];
    if (k->left == 0)
        return bm_fail_at(err, BM_ERR_FORMAT, row->path, row->line,
                          "more rows than " BM_FILE_SOURCES " counts");
    BM_TRY(bm_source_walk_row(&k->rows, row, BM_SKIPPED_FILE, err));
    bm_skipped skipped = {.file = k->s->first + (uint32_t)k->rows.file};
    k->left--;
    k->line = row->line;
    BM_TRY(bm_tsv_table_uint(row, BM_SKIPPED_LINE, &skipped.line, err));
    BM_TRY(bm_copy_bytes(reason.data, reason.len, &skipped.reason, err));
    bm_status status = bm_doc_table_skip(&k->s->context->docs, &skipped, err);
    if (status != BM_OK)
        bm_free(skipped.reason);
    return status;
}

/* Read skipped.tsv. Its rows are in input order, and sources.tsv has their number for each
 * input. */
static bm_status read_skipped(sources *s, bm_error *err)
{
    const bm_manifest *manifest = bm_sign_dir_manifest(s->dir);
    const bm_result_dir dir = {.manifest = manifest};
    skipping k = {.s = s, .rows = {manifest, s->skipped, s->n, 0}, .line = 1};
    for (uint32_t i = 0; i < s->n; i++)
        k.left += s->skipped[i];
    if (k.left == 0)
        return BM_OK;
    BM_TRY(bm_result_rows(&dir, BM_TABLE_SKIPPED, add_skipped, &k, err));
    return k.left == 0 ? BM_OK
                       : bm_result_fail(&dir, BM_FILE_SKIPPED, k.line,
                                        "not the rows that " BM_FILE_SOURCES " counts", err);
}

/* --- documents --- */

static bm_status add_document(sources *s, bm_doc_row *row, bm_str id, bm_error *err)
{
    bm_job_context *context = s->context;
    while (s->documents[row->file] == 0)
        row->file++;
    s->documents[row->file]--;
    if (id.len > BM_ID_BYTES_MAX)
        return bm_fail_at(err, BM_ERR_FORMAT, bm_sign_dir_path(s->dir), 0,
                          "an id in " BM_FILE_IDS " has %zu bytes (at most %zu)", id.len,
                          BM_ID_BYTES_MAX);
    bm_doc_row known = *row;
    known.file += s->first;
    context->counts.empty += row->n_shingles == 0;
    context->counts.shingles += row->n_shingles;
    BM_TRY(signature_ids_original(&s->ids, id, &id, err));
    return bm_doc_table_add(&context->docs, &known, (bm_doc_id){id, XXH3_64bits(id.data, id.len)},
                            context->inputs.names.names[known.file], err);
}

static bm_status load_documents(sources *s, bm_error *err)
{
    size_t ends[IDS_BLOCK];
    uint32_t sizes[IDS_BLOCK];
    uint64_t bytes[IDS_BLOCK] = {0}, hashes[IDS_BLOCK];
    bm_buf text = {0};
    bm_doc_row row = {0}; /* add_document advances row.file from document to document */
    bm_status status = BM_OK;
    uint64_t n_docs = bm_sign_dir_docs(s->dir);
    for (uint64_t at = 0; at < n_docs; at += IDS_BLOCK) {
        size_t n = n_docs - at < IDS_BLOCK ? (size_t)(n_docs - at) : IDS_BLOCK;
        text.len = 0;
        BM_TRY_OUT(bm_sign_dir_ids(s->dir, at, n, &(bm_sign_ids){&text, ends}, err));
        BM_TRY_OUT(bm_sign_dir_n_shingles(s->dir, at, n, sizes, err));
        if (bm_sign_dir_has_bytes(s->dir))
            BM_TRY_OUT(bm_sign_dir_n_bytes(s->dir, at, n, bytes, err));
        BM_TRY_OUT(bm_sign_dir_text_hashes(s->dir, at, n, hashes, err));
        for (size_t i = 0; i < n; i++) {
            size_t begin = i == 0 ? 0 : ends[i - 1];
            row.n_shingles = sizes[i];
            row.text_bytes = bytes[i];
            row.text_hash = hashes[i];
            BM_TRY_OUT(add_document(s, &row, (bm_str){text.data + begin, ends[i] - begin}, err));
        }
    }
out:
    bm_buf_reset(&text);
    return status;
}

/* Did `sign` number repeated ids? */
static bool were_numbered(const bm_sign_dir *dir)
{
    const char *word = bm_option_name(BM_OPTION_DUPLICATE_IDS, BM_DUPLICATE_IDS_NUMBER);
    return strcmp(bm_sign_dir_provenance(dir)->texts[BM_ROW_DUPLICATE_IDS], word) == 0;
}

static bm_status load_dir(sources *s, bm_error *err)
{
    s->n = (uint32_t)bm_manifest_n_inputs(bm_sign_dir_manifest(s->dir));
    s->documents = bm_alloc_zero(s->n, sizeof *s->documents);
    s->skipped = bm_alloc_zero(s->n, sizeof *s->skipped);
    bm_status status = BM_OK;
    if (s->documents == NULL || s->skipped == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, s->n * sizeof *s->skipped));
    BM_TRY_OUT(read_sources(s, err));
    if (s->context->docs.number_duplicates && were_numbered(s->dir))
        BM_TRY_OUT(signature_ids_load(s->dir, &s->ids, err));
    BM_TRY_OUT(load_documents(s, err));
    status = read_skipped(s, err);
out:
    signature_ids_reset(&s->ids);
    bm_free_all(s->documents, s->skipped);
    s->first += s->n;
    return status;
}

/* --- the job --- */

/* Add the counts in the manifest to the job's counts. Short, unreadable and weightless documents
 * are not counted as empty. BM_ERR_FORMAT: a number is impossible. */
static bm_status add_counts(const bm_manifest *manifest, const bm_sign_dir *dir, bm_counts *counts,
                            bm_error *err)
{
    const uint64_t n_docs = bm_sign_dir_docs(dir);
    const uint64_t skipped = counts->skipped, records = counts->records;
    for (size_t i = 0; i < BM_N_COUNTS; i++) {
        const bm_count_row *row = &bm_count_rows[i];
        uint64_t *sum = bm_count_at(counts, row), n = 0;
        if (!row->of_reading)
            continue;
        const bool some = row->of == BM_COUNTS_OF_SOME;
        const bm_status found = bm_manifest_count(manifest, row->name, &n, some ? NULL : err);
        if (found != BM_OK && !some)
            return found;
        if (__builtin_add_overflow(*sum, n, sum))
            return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(manifest), 0,
                              "counts.%s is %" PRIu64 ", which passes 2^64", row->name, n);
    }
    uint64_t n_short = 0, n_none = 0;
    BM_TRY(bm_sign_dir_short(dir, &n_short, &n_none, err));
    if (n_short > n_docs)
        return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(manifest), 0,
                          "counts.short is %" PRIu64 " (at most as many as documents)", n_short);
    counts->short_docs += n_short;
    counts->empty -= n_none < counts->empty ? n_none : counts->empty;
    const uint64_t unreadable = bm_sign_dir_unreadable(dir);
    counts->unreadable += unreadable;
    counts->empty -= unreadable < counts->empty ? unreadable : counts->empty;
    /* `empty` includes weightless documents so far, because they have no elements either */
    uint64_t weightless = 0;
    if (bm_manifest_count(manifest, "weightless", &weightless, NULL) == BM_OK &&
        weightless <= counts->empty) {
        counts->results.weightless += weightless;
        counts->empty -= weightless;
    }
    if (counts->records - records != counts->skipped - skipped + n_docs)
        return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(manifest), 0,
                          "counts.records is %" PRIu64 " (expected documents and skipped)",
                          counts->records - records);
    return BM_OK;
}

/* Add the counts of directory entries that were left out when the inputs were signed. This job
 * cannot count them, because it opens each file by its own path. */
static void add_left_out(const bm_signature_inputs *inputs, bm_counts *counts)
{
    for (size_t i = 0; i < BM_N_COUNTS; i++) {
        const bm_count_row *row = &bm_count_rows[i];
        const bool of_listing = row->at == offsetof(bm_counts, hidden_files) ||
                                strncmp(row->name, "left_out.", strlen("left_out.")) == 0;
        for (size_t d = 0; of_listing && d < inputs->n; d++) {
            uint64_t n = 0, *sum = bm_count_at(counts, row);
            if (bm_manifest_count(inputs->manifests[d], row->name, &n, NULL) == BM_OK)
                *sum += n;
        }
    }
}

/* If a rule of `keep` ranks by length, check that lengths are known. If texts are not read, lengths
 * are read from n_bytes.npy. BM_ERR_FORMAT: a directory has no n_bytes.npy. */
static bm_status signature_inputs_check_keep(const bm_signature_inputs *inputs,
                                             const bm_settings *s, bm_error *err)
{
    const bool by_length = bm_keep_rules_have(&s->keep, BM_KEEP_RULE_LONGEST) ||
                           bm_keep_rules_have(&s->keep, BM_KEEP_RULE_SHORTEST);
    for (size_t i = 0; by_length && !bm_signature_inputs_reads_texts(s) && i < inputs->n; i++)
        if (!bm_sign_dir_has_bytes(inputs->dirs[i]))
            return bm_fail_at(err, BM_ERR_FORMAT, bm_sign_dir_path(inputs->dirs[i]), 0,
                              "has no " BM_FILE_N_BYTES
                              ": `keep` cannot go by length (sign the documents again)");
    return BM_OK;
}

bm_status bm_signature_inputs_documents(const bm_signature_inputs *inputs, bm_job_context *context,
                                        bm_error *err)
{
    const bm_recipe *recipe = &inputs->recipe;
    bm_file_names *names = &context->inputs.names;
    sources s = {.context = context};
    const bm_manifest *before = NULL;
    BM_TRY(bm_new(&names->names, recipe->n_inputs, err));
    for (names->n = 0; names->n < recipe->n_inputs; names->n++)
        names->names[names->n] = recipe->names[names->n];
    context->inputs.recorded = recipe;
    bm_status status = BM_OK;
    BM_TRY_OUT(signature_inputs_check_keep(inputs, context->settings, err));
    for (size_t d = 0; d < inputs->n; d++) {
        const bm_manifest *manifest = inputs->manifests[d];
        s.dir = inputs->dirs[d];
        if (before != NULL && bm_manifest_continues(before, manifest))
            s.first--; /* this share begins in the last file of the previous share */
        if (bm_manifest_n_inputs(manifest) > 0) /* a share may be empty */
            before = manifest;
        BM_TRY_OUT(load_dir(&s, err));
        BM_TRY_OUT(add_counts(manifest, s.dir, &context->counts, err));
    }
out:
    context->counts.documents = context->docs.n;
    return status;
}

#define BLOCK_ROWS 4096u

void bm_signature_inputs_close(bm_signature_inputs *inputs)
{
    if (inputs == NULL)
        return;
    for (size_t i = 0; i < inputs->n; i++)
        bm_sign_dir_close(inputs->dirs[i]);
    bm_recipe_reset(&inputs->recipe);
    bm_free_all(inputs->dirs, inputs->manifests, inputs);
}

static bool of_one_whole(const bm_manifest_shard *a, const bm_manifest_shard *b)
{
    return b != NULL && a->of == b->of && strcmp(a->whole, b->whole) == 0;
}

/* Put the directories in the order of their documents. Shares of the same inputs are moved to the
 * place of the share that was given first, and ordered by their index. BM_ERR_FORMAT: the message
 * names a missing or repeated share. */
static bm_status order_shares(bm_signature_inputs *inputs, bm_error *err)
{
    bm_sign_dir **ordered = NULL;
    size_t n = 0;
    bm_status status = BM_OK;
    BM_TRY(bm_new(&ordered, inputs->n, err));
    for (size_t i = 0; i < inputs->n; i++) {
        const bm_manifest_shard *first = bm_manifest_shard_of(inputs->manifests[i]);
        bool placed = false;
        for (size_t j = 0; first != NULL && !placed && j < i; j++)
            placed = of_one_whole(first, bm_manifest_shard_of(inputs->manifests[j]));
        if (first == NULL)
            ordered[n++] = inputs->dirs[i];
        for (uint64_t k = 1; first != NULL && !placed && k <= first->of; k++) {
            size_t found = 0;
            for (size_t j = i; j < inputs->n; j++) {
                const bm_manifest_shard *other = bm_manifest_shard_of(inputs->manifests[j]);
                if (!of_one_whole(first, other) || other->index != k)
                    continue;
                if (found++ == 0)
                    ordered[n++] = inputs->dirs[j];
            }
            if (found != 1)
                BM_TRY_OUT(bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(inputs->manifests[i]), 0,
                                      "it is share %" PRIu64 " of %" PRIu64 ", and share %" PRIu64
                                      " of its inputs is %s (each of them once)",
                                      first->index, first->of, k,
                                      found == 0 ? "missing" : "given twice"));
        }
    }
    for (size_t i = 0; i < inputs->n; i++) {
        inputs->dirs[i] = ordered[i];
        inputs->manifests[i] = bm_sign_dir_manifest(ordered[i]);
    }
out:
    bm_free(ordered);
    return status;
}

static bm_status open_dirs(const bm_settings *settings, bm_signature_inputs *out, bm_error *err)
{
    const bm_input_options *input = &settings->input;
    uint64_t memory = settings->memory;
    size_t n = input->n_paths;
    BM_TRY(bm_new_zero(&out->dirs, n, err));
    BM_TRY(bm_new_zero(&out->manifests, n, err));
    for (size_t i = 0; i < n; i++) {
        BM_TRY(bm_sign_dir_open_beside(i > 0 ? out->dirs[0] : NULL, input->paths[i], memory,
                                       &out->dirs[i], err));
        out->n = i + 1;
        out->manifests[i] = bm_sign_dir_manifest(out->dirs[i]);
        const uint64_t bytes = bm_manifest_bytes(out->manifests[i]);
        out->bytes += bytes;
        memory = memory > bytes + 1 ? memory - bytes : 1; /* a limit of 0 would mean no limit */
        if (!out->no_content && !bm_sign_dir_has_content(out->dirs[i])) {
            out->no_content = true;
            out->older = i;
        }
    }
    BM_TRY(order_shares(out, err));
    out->recipe = (bm_recipe){.manifests = out->manifests, .n = n};
    return BM_OK;
}

/* Choose the verification. Exact verification reads the inputs again. If no option requests it, it
 * may change to verification by signature, unless texts or sets are needed for another reason: for
 * fields of `keep`, removed records, edit distances, or candidates that are found without bands. */
static bm_status choose_verify(bm_signature_inputs *inputs, bm_settings *s, bm_error *err)
{
    const bool asked = s->pairs.verify != BM_VERIFY_AUTO;
    const bool needs_records = s->keep.n_by_field > 0 || bm_settings_write_removed(s);
    bm_error why = {0};
    if (asked && !bm_verify_reads_sets(s->pairs.verify) && !needs_records)
        return BM_OK;
    inputs->may_fall_back =
        !asked && !needs_records && !s->pairs.edit && s->pairs.candidates == BM_CANDIDATES_LSH;
    if (!asked)
        s->pairs.verify = BM_VERIFY_EXACT;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_recipe_find(&inputs->recipe, s, &why));
    return BM_OK;
out:
    if (status == BM_ERR_IO) /* the manifest, not the user, names the missing file */
        status = why.status = BM_ERR_FORMAT;
    if (bm_signature_inputs_fall_back(inputs, s, status, &why))
        return BM_OK;
    if (err != NULL)
        *err = why;
    return status;
}

bool bm_signature_inputs_fall_back(bm_signature_inputs *inputs, bm_settings *settings,
                                   bm_status status, const bm_error *why)
{
    if (!inputs->may_fall_back || status != BM_ERR_FORMAT)
        return false;
    inputs->may_fall_back = false;
    inputs->why = *why;
    settings->pairs.verify = BM_VERIFY_SIGNATURE;
    return true;
}

/* Resolve the plan from the options and the signatures. Resolve the verification from the options,
 * the signatures, and the inputs that exist. */
static bm_status resolve(bm_signature_inputs *inputs, uint32_t asked_perms, bm_settings *s,
                         bm_error *err)
{
    const uint32_t perms = bm_sign_dir_perms(inputs->dirs[0]);
    if (asked_perms != 0 && asked_perms != perms)
        return bm_fail_field(err, "perms", "%u permutations asked for, the signatures have %u",
                             asked_perms, perms);
    /* 0 lets bm_settings_plan choose as many as bands and rows need */
    if (asked_perms == 0 && s->bands.bands != 0)
        s->sketch.perms = 0;
    if (s->pairs.candidates == BM_CANDIDATES_LSH) {
        BM_TRY(bm_settings_plan(s, err));
        s->plan.perms = perms;
    }
    if (s->plan.bands * s->plan.rows > perms)
        return bm_fail_field(err, "bands",
                             "%u bands of %u rows need more words than the signatures have (%u)",
                             s->plan.bands, s->plan.rows, perms);
    s->sketch.perms = perms;
    return choose_verify(inputs, s, err);
}

bm_status bm_signature_inputs_open(bm_settings *settings, bm_signature_inputs **out, bm_error *err)
{
    const bm_settings asked = *settings;
    bm_signature_inputs *inputs = NULL;
    BM_TRY(bm_new_zero(&inputs, 1, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_job_context_check_outputs(settings, asked.input.paths, asked.input.n_paths, err));
    BM_TRY_OUT(open_dirs(&asked, inputs, err));
    BM_TRY_OUT(bm_recipe_apply(&inputs->recipe, settings, err));
    BM_TRY_OUT(bm_recorded_options_check(&asked, settings, asked.input.paths[0], err));
    bm_settings_keep_id_rule(&asked.input, &settings->input);
    BM_TRY_OUT(resolve(inputs, asked.sketch.perms, settings, err));
    status = signature_inputs_check_keep(inputs, settings, err);
out:
    if (status == BM_OK)
        *out = inputs;
    else
        bm_signature_inputs_close(inputs);
    return status;
}

void bm_signature_inputs_log(const bm_signature_inputs *inputs, const bm_settings *settings,
                             bm_meter *meter)
{
    char why[2100];
    if (inputs->no_content && !bm_verify_reads_sets(settings->pairs.verify))
        bm_meter_log(meter, BM_LOG_WARNING,
                     "%s has no " BM_FILE_CONTENT
                     ": identical documents are not told from near ones (sign again)",
                     bm_sign_dir_path(inputs->dirs[inputs->older]));
    if (inputs->why.status == BM_OK)
        return;
    bm_error_format(&inputs->why, why, sizeof why);
    bm_meter_log(meter, BM_LOG_WARNING, "%s: pairs are verified by signature only", why);
}

uint64_t bm_signature_inputs_bytes(const bm_signature_inputs *inputs)
{
    return inputs->bytes;
}

bool bm_signature_inputs_know_identical(const bm_signature_inputs *inputs)
{
    return !inputs->no_content;
}

/* --- words and keys --- */

typedef struct block {
    uint64_t first; /* first row in the directory's arrays */
    size_t n;
    uint32_t *words, *n_shingles;
    uint64_t *keys;
    bm_hash128 *content; /* NULL if some directory has no content hashes */
} block;

static bm_status load_block(const bm_settings *s, bm_sign_dir *dir, const block *b,
                            bm_corpus *corpus, bm_error *err)
{
    const size_t n = b->n;
    uint32_t perms = s->sketch.perms, bands = corpus->cfg.bands;
    const bm_band_plan plan = {.perms = perms, .bands = bands, .rows = s->plan.rows};
    BM_TRY(bm_sign_dir_rows(dir, b->first, n, b->words, err));
    BM_TRY(bm_sign_dir_n_shingles(dir, b->first, n, b->n_shingles, err));
    if (b->content != NULL)
        BM_TRY(bm_sign_dir_content(dir, b->first, n, b->content, err));
    if (bands > 0)
        BM_TRY(bm_signed_rows_keys(&(bm_signed_rows){s->sketch.scheme, b->words, n}, &plan, b->keys,
                                   err));
    for (size_t i = 0; i < n; i++) {
        for (uint32_t j = 0; b->n_shingles[i] == 0 && j < bands; j++)
            b->keys[i * bands + j] = BM_NO_BAND_KEY;
    }
    const bm_signed_docs docs = {.n = n,
                                 .words = b->words,
                                 .keys = b->keys,
                                 .n_shingles = b->n_shingles,
                                 .content = b->content};
    return bm_corpus_add_words(corpus, &docs, err);
}

bm_status bm_signature_inputs_words(bm_signature_inputs *inputs, bm_job_context *context,
                                    bm_corpus *corpus, bm_error *err)
{
    const bm_settings *s = context->settings;
    const size_t row = bm_scheme_row_uints(s->sketch.scheme, s->sketch.perms);
    block b = {.words = bm_alloc(BLOCK_ROWS * row, sizeof *b.words),
               .n_shingles = bm_alloc(BLOCK_ROWS, sizeof *b.n_shingles),
               .keys = bm_alloc(BLOCK_ROWS * (size_t)s->plan.bands, sizeof *b.keys)};
    const bool content = bm_signature_inputs_know_identical(inputs);
    bm_status status = BM_OK;
    if (content)
        b.content = bm_alloc(BLOCK_ROWS, sizeof *b.content);
    if (b.words == NULL || b.n_shingles == NULL || b.keys == NULL || (content && !b.content))
        BM_TRY_OUT(bm_fail_nomem(err, BLOCK_ROWS * row * sizeof *b.words));
    for (size_t d = 0; d < inputs->n; d++) {
        uint64_t n_docs = bm_sign_dir_docs(inputs->dirs[d]);
        for (uint64_t at = 0; at < n_docs; at += BLOCK_ROWS) {
            b.first = at;
            b.n = n_docs - at < BLOCK_ROWS ? (size_t)(n_docs - at) : BLOCK_ROWS;
            BM_TRY_OUT(bm_meter_check(&context->meter, err));
            BM_TRY_OUT(load_block(s, inputs->dirs[d], &b, corpus, err));
        }
    }
out:
    bm_free_all(b.words, b.n_shingles, b.keys, b.content);
    if (status != BM_OK) /* the signatures are bad, so verification by signature cannot help */
        inputs->may_fall_back = false;
    return status;
}

/* --- with texts --- */

bm_status bm_signature_inputs_check(const bm_signature_inputs *inputs, bm_job_context *context,
                                    size_t n_docs, bm_error *err)
{
    BM_TRY(bm_recipe_check_inputs(&inputs->recipe, context->inputs.set, err));
    if (context->docs.n != n_docs)
        return bm_fail_at(err, BM_ERR_FORMAT, bm_sign_dir_path(inputs->dirs[0]), 0,
                          "%zu documents were signed and the inputs hold %zu", n_docs,
                          context->docs.n);
    add_left_out(inputs, &context->counts);
    return BM_OK;
}

bm_status bm_signature_inputs_blame(const bm_signature_inputs *inputs,
                                    const bm_job_context *context, bm_status status, bm_error *err)
{
    return bm_recipe_blame(&inputs->recipe, context->inputs.set, &context->callbacks, status, err);
}
