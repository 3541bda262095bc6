/* pairing_signatures.c -- words come from signatures.npy, keys are computed here; texts are read
 * again only for exact verification.
 *
 * `--verify` not given: exact where every input is still there with its size, else by signature,
 * and a line says so. */
#include "pipeline/jobs/pairing_signatures.h"

#include <stdlib.h>
#include <string.h>

#include <bandmill/sketch.h>

#include "base/error.h"
#include "io/json/json_write.h"
#include "io/arrays/sign_dir.h"
#include "pipeline/context/recipe.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define BLOCK_ROWS 4096u

struct bm_pairing_dirs {
    bm_sign_dir **dirs;
    const bm_manifest **manifests;
    size_t n;
    bm_recipe recipe;
    char **names; /* of the inputs, where they are not read; owned */
    size_t n_names, cap_names;
};

bm_status bm_pairing_is_signatures(const bm_job *job, bool *out, bm_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < job->input.n_paths; i++)
        n += bm_sign_dir_is(job->input.paths[i]);
    *out = n > 0;
    if (n > 0 && (n < job->input.n_paths || job->input.files_from != NULL))
        return bm_fail(err, BM_ERR_USAGE,
                       "signatures and documents together (all inputs of one kind)");
    return BM_OK;
}

void bm_pairing_dirs_free(bm_pairing_dirs *dirs)
{
    if (dirs == NULL)
        return;
    for (size_t i = 0; i < dirs->n; i++)
        bm_sign_dir_close(dirs->dirs[i]);
    for (size_t i = 0; i < dirs->n_names; i++)
        bm_free(dirs->names[i]);
    bm_recipe_reset(&dirs->recipe);
    bm_free(dirs->names);
    bm_free(dirs->dirs);
    bm_free(dirs->manifests);
    bm_free(dirs);
}

static bm_status open_dirs(const bm_job *job, bm_pairing_dirs *dirs, bm_error *err)
{
    size_t n = job->input.n_paths;
    dirs->dirs = bm_alloc_zero(n, sizeof(*dirs->dirs));
    dirs->manifests = bm_alloc_zero(n, sizeof(*dirs->manifests));
    if (dirs->dirs == NULL || dirs->manifests == NULL)
        return bm_fail_nomem(err, n * sizeof(*dirs->dirs));
    for (size_t i = 0; i < n; i++) {
        const char *field;
        bm_status status = bm_sign_dir_open(job->input.paths[i], &dirs->dirs[i], err);
        if (status != BM_OK)
            return status;
        dirs->n = i + 1;
        dirs->manifests[i] = bm_sign_dir_manifest(dirs->dirs[i]);
        if (!bm_sign_dir_same_provenance(dirs->dirs[0], dirs->dirs[i], &field))
            return bm_fail_at(err, BM_ERR_FORMAT, job->input.paths[i], 0,
                              "provenance.%s differs from that of %s (signatures made alike)",
                              field, job->input.paths[0]);
    }
    return BM_OK;
}

/* Settle plan and verification from what the signatures are and what is still there. */
static bm_status settle(bm_job_context *run, const bm_pairing_dirs *dirs, bm_error *err)
{
    uint32_t perms = bm_sign_dir_perms(dirs->dirs[0]);
    if (run->job->perms_given && run->job->sketch.perms != perms)
        return bm_fail(err, BM_ERR_USAGE, "%u permutations asked for, the signatures have %u",
                       run->job->sketch.perms, perms);
    run->sketch = dirs->recipe.job.sketch;
    bm_status status = bm_job_context_plan(run, err);
    if (status != BM_OK)
        return status;
    if (run->plan.bands * run->plan.rows > perms)
        return bm_fail(err, BM_ERR_USAGE,
                       "%u bands of %u rows need more words than the signatures have (%u)",
                       run->plan.bands, run->plan.rows, perms);
    run->sketch.perms = run->plan.perms = perms;
    run->hash_name = bm_sign_dir_provenance(dirs->dirs[0])->hash;
    if (run->verify != BM_VERIFY_AUTO)
        return BM_OK;
    bool there = bm_recipe_inputs_there(dirs->manifests, dirs->n);
    run->verify = there || run->job->all_candidates ? BM_VERIFY_EXACT : BM_VERIFY_SIGNATURE;
    if (!there)
        bm_meter_log(&run->meter, BM_LOG_WARNING,
                     "the inputs of the signatures are not there or changed: pairs are "
                     "verified by signature only");
    return BM_OK;
}

/* --- words and keys --- */

typedef struct block {
    uint32_t *words, *n_shingles;
    uint64_t *keys;
} block;

static bm_status load_block(bm_job_context *run, const bm_sign_dir *dir, uint64_t first, size_t n,
                            const block *b, bm_corpus *corpus, bm_error *err)
{
    uint32_t perms = run->sketch.perms, bands = corpus->cfg.bands;
    bm_status status = bm_sign_dir_rows(dir, first, n, b->words, err);
    if (status == BM_OK)
        status = bm_sign_dir_n_shingles(dir, first, n, b->n_shingles, err);
    if (status == BM_OK && bands > 0)
        status = bm_band_keys(b->words, n, perms, bands, run->plan.rows, b->keys, err);
    for (size_t i = 0; status == BM_OK && i < n; i++)
        for (uint32_t j = 0; b->n_shingles[i] == 0 && j < bands; j++)
            b->keys[i * bands + j] = BM_NO_BAND_KEY;
    bm_signed_docs docs = {.n = n, .words = b->words, .keys = b->keys, .n_shingles = b->n_shingles};
    return status == BM_OK ? bm_corpus_add_words(corpus, &docs, err) : status;
}

static bm_status load_words(bm_job_context *run, const bm_pairing_dirs *dirs, bm_corpus *corpus,
                            bm_error *err)
{
    uint32_t perms = run->sketch.perms;
    block b = {.words = bm_alloc(BLOCK_ROWS * (size_t)perms, sizeof *b.words),
               .n_shingles = bm_alloc(BLOCK_ROWS, sizeof *b.n_shingles),
               .keys = bm_alloc(BLOCK_ROWS * (size_t)run->plan.bands, sizeof *b.keys)};
    bm_status status = BM_OK;
    if (b.words == NULL || b.n_shingles == NULL || b.keys == NULL)
        status = bm_fail_nomem(err, BLOCK_ROWS * (size_t)perms * sizeof *b.words);
    for (size_t d = 0; status == BM_OK && d < dirs->n; d++) {
        uint64_t n_docs = bm_sign_dir_docs(dirs->dirs[d]);
        for (uint64_t at = 0; status == BM_OK && at < n_docs; at += BLOCK_ROWS) {
            size_t n = n_docs - at < BLOCK_ROWS ? (size_t)(n_docs - at) : BLOCK_ROWS;
            status = bm_meter_check(&run->meter, err);
            if (status == BM_OK)
                status = load_block(run, dirs->dirs[d], at, n, &b, corpus, err);
        }
    }
    bm_free(b.words);
    bm_free(b.n_shingles);
    bm_free(b.keys);
    return status;
}

/* --- without texts: ids and files from the directory --- */

static bm_status add_name(bm_pairing_dirs *dirs, bm_str name, bm_error *err)
{
    void *names = dirs->names;
    bm_status status =
        bm_grow(&names, &dirs->cap_names, dirs->n_names + 1, sizeof *dirs->names, err);
    dirs->names = names;
    if (status != BM_OK)
        return status;
    dirs->names[dirs->n_names] = bm_strndup(name.data, name.len);
    if (dirs->names[dirs->n_names] == NULL)
        return bm_fail_nomem(err, name.len);
    dirs->n_names++;
    return BM_OK;
}

static bm_status load_ids(bm_job_context *run, bm_pairing_dirs *dirs, const bm_sign_dir *dir,
                          uint32_t file, bm_error *err)
{
    size_t ends[256];
    uint32_t sizes[256];
    bm_buf text = {0};
    bm_status status = BM_OK;
    uint64_t n_docs = bm_sign_dir_docs(dir);
    for (uint64_t at = 0; status == BM_OK && at < n_docs; at += 256) {
        size_t n = n_docs - at < 256 ? (size_t)(n_docs - at) : 256;
        text.len = 0;
        status = bm_sign_dir_ids(dir, at, n, &text, ends, err);
        if (status == BM_OK)
            status = bm_sign_dir_n_shingles(dir, at, n, sizes, err);
        for (size_t i = 0; status == BM_OK && i < n; i++) {
            size_t begin = i == 0 ? 0 : ends[i - 1];
            bm_str id = {text.data + begin, ends[i] - begin};
            bm_doc_row row = {.file = file, .n_shingles = sizes[i]};
            status = bm_doc_table_add(&run->docs, &row, id, XXH3_64bits(id.data, id.len),
                                      dirs->names[file], err);
            run->counts.empty += sizes[i] == 0;
            run->counts.shingles += sizes[i];
        }
    }
    bm_buf_reset(&text);
    return status;
}

/* Without texts a directory of signatures itself is the file that its documents come from. */
static bm_status load_documents(bm_job_context *run, bm_pairing_dirs *dirs, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t d = 0; status == BM_OK && d < dirs->n; d++) {
        const char *path = bm_sign_dir_path(dirs->dirs[d]);
        status = add_name(dirs, (bm_str){path, strlen(path)}, err);
        if (status == BM_OK)
            status = load_ids(run, dirs, dirs->dirs[d], (uint32_t)d, err);
    }
    run->counts.documents = run->counts.records = run->docs.n;
    run->names.n = dirs->n_names;
    run->names.names = bm_alloc(dirs->n_names, sizeof *run->names.names);
    if (status == BM_OK && run->names.names == NULL)
        return bm_fail_nomem(err, dirs->n_names * sizeof *run->names.names);
    for (size_t i = 0; status == BM_OK && i < dirs->n_names; i++)
        run->names.names[i] = dirs->names[i];
    return status;
}

/* --- with texts --- */

static bm_status read_texts(bm_job_context *run, const bm_pairing_dirs *dirs, bool output_is_dir,
                            bm_pairing *out, bm_error *err)
{
    bm_status status = bm_job_context_inputs(run, false, output_is_dir, err);
    if (status == BM_OK)
        status = bm_job_context_ingest(run, false, false, bm_corpus_fill_hashes, &out->corpus, err);
    if (status == BM_OK)
        status = bm_recipe_check_inputs(dirs->manifests, dirs->n, run->inputs, err);
    if (status == BM_OK && run->docs.n != out->corpus.n)
        status = bm_fail_at(err, BM_ERR_FORMAT, bm_sign_dir_path(dirs->dirs[0]), 0,
                            "%zu documents were signed and the inputs hold %zu", out->corpus.n,
                            run->docs.n);
    out->has_text = status == BM_OK;
    return status;
}

bm_status bm_pairing_load_signatures(bm_job_context *run, bool output_is_dir, bm_pairing *out,
                                     bm_error *err)
{
    const bm_job *job = run->job;
    bm_status status = BM_OK;
    bm_pairing_dirs *dirs = bm_alloc_zero(1, sizeof *dirs);
    if (dirs == NULL)
        return bm_fail_nomem(err, sizeof *dirs);
    out->dirs = dirs;
    if (job->output != NULL)
        status = bm_out_check(job->output, job->force, output_is_dir, job->input.paths,
                              job->input.n_paths, err);
    if (status == BM_OK)
        status = open_dirs(job, dirs, err);
    if (status == BM_OK)
        status = bm_recipe_make(job, dirs->manifests, dirs->n, &dirs->recipe, err);
    if (status == BM_OK)
        status = settle(run, dirs, err);
    if (status != BM_OK)
        return status;
    run->job = &dirs->recipe.job;
    if (out->checkpoint != NULL) {
        status = bm_checkpoint_open(run, false, out->checkpoint, err);
        if (status != BM_OK)
            return status;
    }
    run->docs.number_duplicates = run->job->input.number_duplicate_ids;
    bm_corpus_cfg cfg = {.hashes = run->verify == BM_VERIFY_EXACT,
                         .find_identical = run->verify == BM_VERIFY_EXACT,
                         .bands = job->all_candidates ? 0 : run->plan.bands,
                         .perms = run->verify == BM_VERIFY_SIGNATURE ? run->sketch.perms : 0,
                         .memory = run->memory,
                         .docs = &run->docs,
                         .budget = run->budget,
                         .edges = out->corpus.cfg.edges,
                         .temp_dir = run->temp_dir};
    bm_corpus_init(&out->corpus, &cfg);
    bm_job_context_stage(run, "load", "documents");
    status = load_words(run, dirs, &out->corpus, err);
    bm_job_context_stage(run, "read", "bytes");
    if (status == BM_OK)
        status = run->verify == BM_VERIFY_EXACT ? read_texts(run, dirs, output_is_dir, out, err)
                                                : load_documents(run, dirs, err);
    return status;
}
