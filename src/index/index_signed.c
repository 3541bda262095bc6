/* index_signed.c -- words come from signatures.npy, keys are made of them; no text is read. Which line of which input
 * a document was is not told.
 *
 * Tests: tests/cli/cases/index_signed.sh */
#include "index/index_signed.h"

#include <string.h>

#include <bandmill/sketch.h>
#include <bandmill/words.h>

#include "base/error.h"
#include "base/memory.h"
#include "job/settings_fields.h"

static bm_status are_signed(const bm_settings *s, bool *out, bm_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < s->input.n_paths; i++) {
        bool is = false;
        BM_TRY(bm_sign_dir_is(s->input.paths[i], s->memory, &is, err));
        n += is;
    }
    *out = n > 0;
    if (n > 0 && (n < s->input.n_paths || s->input.files_from != NULL))
        return bm_fail(err, BM_ERR_USAGE,
                       "signatures and documents together (all inputs of one kind)");
    return BM_OK;
}

static bm_status open_dirs(const bm_settings *s, bm_index_signed *out, bm_error *err)
{
    const char *field;
    BM_TRY(bm_new_zero(&out->dirs, s->input.n_paths, err));
    for (size_t i = 0; i < s->input.n_paths; i++) {
        BM_TRY(bm_sign_dir_open(s->input.paths[i], s->memory / 4 + 1, &out->dirs[i], err));
        out->n = out->n_open = i + 1;
        if (!bm_sign_dir_same_provenance(out->dirs[0], out->dirs[i], &field))
            return bm_fail_at(err, BM_ERR_FORMAT, bm_sign_dir_path(out->dirs[i]), 0,
                              "provenance.%s differs from that of %s (signatures made alike)",
                              field, bm_sign_dir_path(out->dirs[0]));
    }
    return BM_OK;
}

/* The first way in which documents are signed differently; NULL: none. */
static const char *differs(const bm_settings *a, const bm_settings *b)
{
    if (a->sketch.scheme != b->sketch.scheme)
        return "scheme";
    if (strcmp(a->hash_name, b->hash_name) != 0)
        return "hash";
    if (a->sketch.seed != b->sketch.seed)
        return "seed";
    if (a->sketch.perms != b->sketch.perms && a->index.store == BM_INDEX_SIGNATURES)
        return "perms";
    return bm_text_differs(&a->text, &b->text);
}

static bm_status settle(const bm_index_signed *dirs, const char *path, bm_settings *s,
                        bm_error *err)
{
    const char *dir = bm_sign_dir_path(dirs->dirs[0]);
    bm_settings are = *s;
    BM_TRY(bm_recipe_signed(bm_sign_dir_manifest(dirs->dirs[0]), &are, err));
    if (path != NULL) {
        const char *field = differs(s, &are);
        return field == NULL ? BM_OK
                             : bm_fail_at(err, BM_ERR_FORMAT, dir, 0,
                                          "provenance.%s differs from that of the index %s "
                                          "(signatures made alike)",
                                          field, path);
    }
    BM_TRY(bm_recorded_options_check(s, &are, dir, err));
    if (s->sketch.perms != 0 && s->sketch.perms != are.sketch.perms)
        return bm_fail_field(err, "perms", "%u permutations asked for, the signatures have %u",
                             s->sketch.perms, are.sketch.perms);
    s->text = are.text;
    s->sketch = are.sketch;
    s->hash_name = strcmp(are.hash_name, BM_HASH_GIVEN) == 0
                       ? BM_HASH_GIVEN
                       : bm_option_word(BM_OPTION_HASH, are.text.hash);
    return bm_settings_keep_stop_words(s, err);
}

bm_status bm_index_signed_open(bm_settings *settings, const char *path, bm_index_signed *out,
                               bm_error *err)
{
    bool is = false;
    *out = (bm_index_signed){0};
    bm_status status = are_signed(settings, &is, err);
    if (status != BM_OK || !is)
        return status;
    if (settings->results.resume)
        return bm_fail_field(err, "resume", "`resume` continues documents, not signatures");
    status = open_dirs(settings, out, err);
    if (status == BM_OK)
        status = settle(out, path, settings, err);
    if (status == BM_OK && settings->index.store == BM_INDEX_SETS)
        status = bm_index_sources_settle(out->dirs, out->n_open, settings, &out->sources, err);
    if (status == BM_OK && settings->index.store == BM_INDEX_SETS)
        out->n = 0; /* it is a job over documents now */
    if (status != BM_OK)
        bm_index_signed_close(out);
    return status;
}

void bm_index_signed_close(bm_index_signed *dirs)
{
    for (size_t i = 0; i < dirs->n_open; i++)
        bm_sign_dir_close(dirs->dirs[i]);
    bm_index_sources_reset(&dirs->sources);
    bm_free(dirs->dirs);
    *dirs = (bm_index_signed){0};
}

/* --- documents --- */

/* What of a row stands in arrays of its own. */
typedef struct columns {
    size_t *ends;
    uint32_t *n_shingles;
    uint64_t *n_bytes;
    bm_hash128 *content;
} columns;

static void reset_columns(columns *c)
{
    bm_free(c->ends);
    bm_free(c->n_shingles);
    bm_free(c->n_bytes);
    bm_free(c->content);
}

static bm_status make_columns(columns *c, size_t n, bm_error *err)
{
    *c = (columns){bm_alloc(n, sizeof *c->ends), bm_alloc(n, sizeof *c->n_shingles),
                   bm_alloc_zero(n, sizeof *c->n_bytes), bm_alloc_zero(n, sizeof *c->content)};
    if (c->ends != NULL && c->n_shingles != NULL && c->n_bytes != NULL && c->content != NULL)
        return BM_OK;
    reset_columns(c);
    return bm_fail_nomem(err, n * sizeof *c->content);
}

static void add_documents(bm_gathered *g, const columns *c, const bm_gather_shape *shape, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const size_t begin = i == 0 ? 0 : c->ends[i - 1];
        g->docs[i] = (bm_store_doc){.id = {NULL, c->ends[i] - begin},
                                    .content = c->content[i],
                                    .text_bytes = c->n_bytes[i],
                                    .input = BM_INDEX_NO_INPUT,
                                    .n_shingles = c->n_shingles[i]};
        for (uint32_t b = 0; c->n_shingles[i] == 0 && b < shape->bands; b++)
            g->keys[i * shape->bands + b] = BM_NO_BAND_KEY;
        g->input_bytes += shape->words * sizeof *g->words;
    }
    g->n = n;
}

/* Rows first … first+n-1 of a directory. */
typedef struct block {
    bm_sign_dir *dir;
    uint64_t first;
    size_t n;
} block;

/* Into an empty batch. */
static bm_status load(const block *b, const bm_index_adder *adder, bm_gathered *g, bm_error *err)
{
    const bm_gather_shape *shape = &adder->shape;
    bm_sign_dir *dir = b->dir;
    const uint64_t first = b->first;
    const size_t n = b->n;
    columns c;
    BM_TRY(make_columns(&c, n, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_gathered_reserve(g, shape, n, err));
    BM_TRY_OUT(bm_sign_dir_rows(dir, first, n, g->words, err));
    BM_TRY_OUT(bm_sign_dir_n_shingles(dir, first, n, c.n_shingles, err));
    if (bm_sign_dir_has_bytes(dir))
        BM_TRY_OUT(bm_sign_dir_n_bytes(dir, first, n, c.n_bytes, err));
    if (bm_sign_dir_has_content(dir))
        BM_TRY_OUT(bm_sign_dir_content(dir, first, n, c.content, err));
    BM_TRY_OUT(bm_sign_dir_ids(dir, first, n, &(bm_sign_ids){&g->ids, c.ends}, err));
    BM_TRY_OUT(
        bm_signed_rows_keys(&(bm_signed_rows){adder->job->settings->sketch.scheme, g->words, n},
                            &adder->job->settings->plan, g->keys, err));
    add_documents(g, &c, shape, n);
out:
    reset_columns(&c);
    return status;
}

static bm_status add_block(const block *b, bm_index_adder *adder, bm_gathered *g, bm_error *err)
{
    const size_t n = b->n;
    bm_counts *counts = &adder->job->counts;
    bm_gathered_clear(g);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_meter_check(&adder->job->meter, err));
    BM_TRY_OUT(load(b, adder, g, err));
    BM_TRY_OUT(bm_gathered_settle(g, &adder->shape, adder->job->pool, err));
    for (size_t i = 0; i < n; i++) {
        counts->empty += g->docs[i].n_shingles == 0;
        counts->shingles += g->docs[i].n_shingles;
    }
out:
    counts->documents += n;
    counts->records += n;
    return status == BM_OK ? bm_index_adder_take(adder, g, err) : status;
}

static bm_status count_short(const bm_sign_dir *dir, bm_counts *counts, bm_error *err)
{
    uint64_t n_short = 0, n_none = 0;
    BM_TRY(bm_sign_dir_short(dir, &n_short, &n_none, err));
    counts->short_docs += n_short;
    counts->empty -= n_none < counts->empty ? n_none : counts->empty;
    return BM_OK;
}

bm_status bm_index_signed_run(const bm_index_signed *dirs, bm_index_adder *adder,
                              uint64_t full_bytes, bm_error *err)
{
    const bm_gather_shape *shape = &adder->shape;
    const size_t row = sizeof(bm_store_doc) + shape->words * sizeof(uint32_t) +
                       shape->bands * sizeof(uint64_t) + 100;
    const size_t most = full_bytes / row < 256 ? 256 : (size_t)(full_bytes / row);
    bm_gathered g = {0};
    bm_status status = BM_OK;
    for (size_t d = 0; d < dirs->n; d++) {
        const uint64_t n_docs = bm_sign_dir_docs(dirs->dirs[d]);
        for (uint64_t at = 0; at < n_docs; at += most) {
            const block b = {dirs->dirs[d], at, n_docs - at < most ? (size_t)(n_docs - at) : most};
            BM_TRY_OUT(add_block(&b, adder, &g, err));
        }
        BM_TRY_OUT(count_short(dirs->dirs[d], &adder->job->counts, err));
    }
out:
    bm_gathered_reset(&g);
    return status;
}
