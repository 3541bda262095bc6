/* import_settle.c -- see the header.
 *
 * Tests: tests/cli/cases/import.sh, tests/unit/jobs/test_public_api_exchange.c */
#include "exchange/import_settle.h"

#include <bandmill/words.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/sized_struct.h"
#include "model/option_defaults.h"
#include "model/option_names.h"
#include "job/recipe.h"
#include "job/settings_fields.h"

static const bm_import_options import_defaults = {.from = BM_EXCHANGE_NPY,
                                                  .text = BM_TEXT_DEFAULTS,
                                                  .sketch = BM_SKETCH_DEFAULTS,
                                                  .resources = BM_RESOURCE_DEFAULTS};

void bm_import_options_init_sized(bm_import_options *options, size_t struct_size)
{
    bm_sized_init(options, struct_size, &import_defaults, sizeof import_defaults);
}

static bool can_be_read(bm_exchange from)
{
    return from == BM_EXCHANGE_LEANMINHASH || from == BM_EXCHANGE_NEMO || from == BM_EXCHANGE_NPY ||
           from == BM_EXCHANGE_ARROW || from == BM_EXCHANGE_PARQUET;
}

static bm_status check_import(const bm_import_options *o, bm_error *err)
{
    const bool table = o->from == BM_EXCHANGE_NEMO || o->from == BM_EXCHANGE_ARROW ||
                       o->from == BM_EXCHANGE_PARQUET;
    if (o->n_paths == 0)
        return bm_fail_field(err, "paths", "no input given (files, or what export wrote)");
    if (o->output.path == NULL)
        return bm_fail_field(err, "output", "no output given (`output`)");
    BM_TRY(bm_option_list_check("paths", o->paths, o->n_paths, err));
    BM_TRY(bm_option_check(BM_OPTION_EXCHANGE, o->from, err));
    if (!can_be_read(o->from))
        return bm_fail_field(err, "from",
                             "`from` %s is not read (leanminhash, nemo, npy, arrow, "
                             "parquet)",
                             bm_option_word(BM_OPTION_EXCHANGE, o->from));
    if (!table && (o->id_field != NULL || o->signature_field != NULL)) {
        const char *field = o->id_field != NULL ? "id_field" : "signature_field";
        return bm_fail_field(err, field, "`%s`: %s has no columns", field,
                             bm_option_word(BM_OPTION_EXCHANGE, o->from));
    }
    if (o->ids != NULL && (o->id_field != NULL))
        return bm_fail_field(err, "ids", "`ids` with `id_field` (one or the other)");
    BM_TRY(bm_option_check(BM_OPTION_DUPLICATE_IDS, o->duplicate_ids, err));
    return bm_option_set_fields_check(o->set_fields, err);
}

bm_status bm_settings_of_import(const bm_import_options *options, bm_settings *out,
                                bm_import_options *taken, bm_error *err)
{
    bm_import_options o = import_defaults;
    BM_TRY(bm_sized_take(options, BM_SIZED_TYPE(bm_import_options, set_fields), &o, err));
    *taken = o;
    *out = (bm_settings){.kind = BM_JOB_SIGN,
                         .input = BM_INPUT_DEFAULTS,
                         .text = o.text,
                         .sketch = o.sketch,
                         .bands = BM_BAND_DEFAULTS,
                         .resources = o.resources,
                         .output = o.output,
                         .callbacks = o.callbacks,
                         .recorded = {.set_fields = o.set_fields}};
    out->input.duplicate_ids = o.duplicate_ids;
    const bm_option_parts parts = {.text = &o.text,
                                   .sketch = &o.sketch,
                                   .resources = &o.resources,
                                   .output = &o.output,
                                   .callbacks = &o.callbacks};
    BM_TRY(check_import(&o, err));
    return bm_settings_settle(out, &parts, err);
}

/* --- what the file says --- */

/* A record of LeanMinHash says scheme and seed. */
static bm_status take_head(const bm_import_source *source, bm_settings *s, bm_error *err)
{
    const bm_import_head *head = &source->head;
    const uint64_t asked = s->recorded.set_fields;
    unsigned scheme = 0;
    if (head->scheme == NULL)
        return BM_OK;
    if (!bm_option_value(BM_OPTION_SCHEME, head->scheme, strlen(head->scheme), &scheme))
        return bm_fail_at(err, BM_ERR_INPUT, source->path, 0,
                          "records of the scheme %s, which this version does not know",
                          head->scheme);
    if (head->seed < 0 || head->seed > UINT32_MAX)
        return bm_fail_at(err, BM_ERR_INPUT, source->path, 1,
                          "its seed is %" PRId64 " (expected 0 to 2^32 - 1)", head->seed);
    if ((asked & BM_FIELD_SCHEME) != 0 && s->sketch.scheme != (bm_scheme)scheme)
        return bm_fail_field(err, "scheme", "`scheme` %s contradicts %s (%s)",
                             bm_option_word(BM_OPTION_SCHEME, s->sketch.scheme), source->path,
                             head->scheme);
    if ((asked & BM_FIELD_SEED) != 0 && s->sketch.seed != head->seed)
        return bm_fail_field(err, "seed", "`seed` %" PRIu32 " contradicts %s (%" PRId64 ")",
                             s->sketch.seed, source->path, head->seed);
    s->sketch.scheme = (bm_scheme)scheme;
    s->sketch.seed = (uint32_t)head->seed;
    s->recorded.set_fields |= BM_FIELD_SCHEME | BM_FIELD_SEED;
    return BM_OK;
}

/* What nobody has said must not be made up. */
static bm_status check_said(const bm_import_source *source, const bm_settings *s, bm_error *err)
{
    static const struct {
        const char *field;
        uint64_t bit;
    } needed[] = {{"scheme", BM_FIELD_SCHEME}, {"seed", BM_FIELD_SEED}, {"hash", BM_FIELD_HASH}};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if ((s->recorded.set_fields & needed[i].bit) == 0)
            return bm_fail_field(err, needed[i].field,
                                 "%s does not say how its signatures were made: `%s` is not given "
                                 "(expected `scheme`, `seed` and `hash`)",
                                 source->path, needed[i].field);
    if (s->text.weights != BM_WEIGHTS_NONE)
        return bm_fail_field(err, "weights", "`weights` of documents that are not read");
    return bm_settings_check_scheme(s, err);
}

static bm_status take_manifest(const bm_import_source *source, bm_settings *s, bm_error *err)
{
    const bm_settings asked = *s;
    BM_TRY(bm_recipe_signed(source->head.manifest, s, err));
    return bm_recorded_options_check(&asked, s, source->path, err);
}

bm_status bm_import_settle(const bm_import_source *first, bm_settings *s, bm_error *err)
{
    const bm_import_head *head = &first->head;
    const uint32_t asked_perms = s->sketch.perms;
    if (head->manifest != NULL) {
        BM_TRY(take_manifest(first, s, err));
    } else {
        BM_TRY(take_head(first, s, err));
        BM_TRY(check_said(first, s, err));
    }
    const uint32_t perms = head->perms != 0         ? head->perms
                           : head->manifest != NULL ? s->sketch.perms
                           : asked_perms != 0       ? asked_perms
                                                    : BM_PERMS_DEFAULT;
    if (asked_perms != 0 && asked_perms != perms)
        return bm_fail_field(err, "perms", "%" PRIu32 " permutations asked for, %s has %" PRIu32,
                             asked_perms, first->path, perms);
    if (head->manifest != NULL && s->sketch.perms != perms)
        return bm_fail_at(err, BM_ERR_INPUT, first->path, 0,
                          "signatures of %" PRIu32 " words (its provenance says %" PRIu32 ")",
                          perms, s->sketch.perms);
    s->sketch.perms = perms;
    const uint32_t word_bytes = bm_scheme_word_bytes(s->sketch.scheme);
    if (head->word_bytes != word_bytes && head->word_bytes != 0)
        return bm_fail_at(err, BM_ERR_INPUT, first->path, 0,
                          "words of %" PRIu32 " bytes (those of %s have %" PRIu32 ")",
                          head->word_bytes, bm_option_word(BM_OPTION_SCHEME, s->sketch.scheme),
                          word_bytes);
    s->input.format = BM_FORMAT_SIGNATURES;
    return BM_OK;
}

static bool same_heads(const bm_import_head *a, const bm_import_head *b)
{
    if (a->word_bytes == 0 || b->word_bytes == 0) /* no record that says anything */
        return (a->manifest == NULL) == (b->manifest == NULL);
    const bool same_scheme = a->scheme == b->scheme || (a->scheme != NULL && b->scheme != NULL &&
                                                        strcmp(a->scheme, b->scheme) == 0);
    const bool same_perms = a->perms == b->perms || a->perms == 0 || b->perms == 0;
    return same_scheme && a->seed == b->seed && same_perms && a->word_bytes == b->word_bytes &&
           (a->manifest == NULL) == (b->manifest == NULL);
}

bm_status bm_import_check_same(const bm_import_source *first, const bm_import_source *other,
                               bm_error *err)
{
    const char *field = NULL;
    const bm_provenance *a = NULL, *b = NULL;
    if (!same_heads(&first->head, &other->head))
        return bm_fail_at(err, BM_ERR_FORMAT, other->path, 0,
                          "its signatures were made in another way than those of %s", first->path);
    if (first->head.manifest == NULL)
        return BM_OK;
    BM_TRY(bm_manifest_provenance(first->head.manifest, &a, err));
    BM_TRY(bm_manifest_provenance(other->head.manifest, &b, err));
    if (!bm_provenance_same(a, b, &field))
        return bm_fail_at(err, BM_ERR_FORMAT, other->path, 0,
                          "provenance.%s differs from that of %s (signatures made alike)", field,
                          first->path);
    return BM_OK;
}
