/* option_check.c -- one function a part.
 *
 * Tests: tests/unit/model/test_option_check.c */
#include "model/option_check.h"

#include "base/error.h"
#include "base/sized_struct.h"
#include "model/field_rows.h"
#include "model/scheme_facts.h"

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

/* The first that is not BM_OK decides. */
typedef struct check {
    bm_status status;
    bm_error *err;
} check;

static void check_enum(check *c, bm_option option, unsigned value)
{
    if (c->status == BM_OK)
        c->status = bm_option_check(option, value, c->err);
}

static void check_words(check *c, bm_field_part part, const bm_option_parts *parts)
{
    if (c->status == BM_OK)
        c->status = bm_fields_check_words(part, parts, c->err);
}

static void check_reserved(check *c, const char *field, const uint64_t *words, size_t n)
{
    if (c->status == BM_OK)
        c->status = bm_reserved_check(field, words, n, c->err);
}

static void check_list(check *c, const char *field, const char *const *list, size_t n)
{
    if (c->status == BM_OK)
        c->status = bm_option_list_check(field, list, n, c->err);
}

static void check_number(check *c, const char *field, double value)
{
    if (c->status == BM_OK)
        c->status = bm_option_number_check(field, value, c->err);
}

/* 0 too: that of the format. */
static bool is_delimiter(char byte)
{
    return (unsigned char)byte < 0x80 && byte != '"' && byte != '\r' && byte != '\n';
}

bool bm_input_given(const bm_input_options *input)
{
    return input->n_paths > 0 || input->files_from != NULL || input->stream != NULL;
}

/* A table comes instead of files. */
static void check_stream(check *c, const bm_input_options *input)
{
    if (input->n_paths > 0 || input->files_from != NULL || input->offsets_path != NULL)
        c->status =
            bm_fail_field(c->err, "stream", "a table (`stream`) and files (one or the other)");
    else if (input->format != BM_FORMAT_AUTO && input->format != BM_FORMAT_ARROW)
        c->status = bm_fail_field(c->err, "format", "`format` %s of a table (`stream`: arrow)",
                                  bm_option_word(BM_OPTION_FORMAT, input->format));
}

static void check_input(check *c, const bm_input_options *input)
{
    if (c->status == BM_OK && input->stream != NULL)
        check_stream(c, input);
    if (c->status == BM_OK && !bm_input_given(input))
        c->status = bm_fail_field(c->err, "paths",
                                  "no input given (files, directories or - for "
                                  "standard input)");
    check_list(c, "paths", input->paths, input->n_paths);
    check_list(c, "text_fields", input->text_fields, input->n_text_fields);
    check_list(c, "include", input->patterns.include, input->patterns.n_include);
    check_list(c, "exclude", input->patterns.exclude, input->patterns.n_exclude);
    check_words(c, BM_PART_INPUT, &(bm_option_parts){.input = input});
    if (c->status == BM_OK && !is_delimiter(input->delimiter))
        c->status = bm_fail_field(c->err, "delimiter",
                                  "the delimiter is byte %u (ASCII, but no quote, carriage return "
                                  "or newline)",
                                  (unsigned)(unsigned char)input->delimiter);
    check_reserved(c, "input", input->reserved, N_OF(input->reserved));
}

static void check_sketch(check *c, const bm_sketch_options *sketch)
{
    if (c->status == BM_OK && sketch->perms > BM_PERMS_MAX)
        c->status = bm_fail_field(c->err, "perms", "%u permutations (1 to %u)", sketch->perms,
                                  BM_PERMS_MAX);
    check_words(c, BM_PART_SKETCH, &(bm_option_parts){.sketch = sketch});
    if (c->status == BM_OK && sketch->reserved_flags != 0)
        check_reserved(c, "sketch", &(uint64_t){sketch->reserved_flags}, 1);
    check_reserved(c, "sketch", sketch->reserved, N_OF(sketch->reserved));
}

static void check_resources(check *c, const bm_resource_options *resources)
{
    if (c->status == BM_OK)
        c->status = bm_option_threads_check(resources->threads, c->err);
    check_number(c, "checkpoint_seconds", resources->checkpoint_seconds);
    check_reserved(c, "resources", resources->reserved, N_OF(resources->reserved));
}

static void check_text(check *c, const bm_text_options *text, bool weighs)
{
    check_words(c, BM_PART_TEXT, &(bm_option_parts){.text = text});
    check_enum(c, BM_OPTION_SHINGLE, text->shingle);
    if (c->status == BM_OK && (text->shingle_k < 1 || text->shingle_k > BM_SHINGLE_K_MAX))
        c->status = bm_fail_field(c->err, "shingle_k", "shingles of %u units (1 to %u)",
                                  text->shingle_k, BM_SHINGLE_K_MAX);
    if (c->status == BM_OK && text->normalize >= 2 * BM_NORM_PUNCT)
        c->status = bm_fail_field(c->err, "normalize", "`normalize` is %#x (BM_NORM_* bits)",
                                  text->normalize);
    const uint32_t both = BM_NORM_NFC | BM_NORM_NFKC;
    if (c->status == BM_OK && (text->normalize & both) == both)
        c->status = bm_fail_field(c->err, "normalize", "nfc and nfkc together (one of them)");
    if (c->status == BM_OK && text->stopwords != NULL && text->shingle != BM_SHINGLE_STOPWORD)
        c->status = bm_fail_field(c->err, "stopwords", "`stopwords` is for `shingle` stopword:K");
    if (c->status == BM_OK && text->weights != BM_WEIGHTS_NONE && !weighs)
        c->status =
            bm_fail_field(c->err, "weights",
                          "`weights` %s (documents are weighed by sign, dedup and pairs alone)",
                          bm_option_word(BM_OPTION_WEIGHTS, text->weights));
    if (c->status == BM_OK && text->weights != BM_WEIGHTS_NONE && text->bag)
        c->status =
            bm_fail_field(c->err, "bag", "`bag` and `weights` (weights count occurrences already)");
    check_reserved(c, "text", text->reserved, N_OF(text->reserved));
}

static void check_bands(check *c, const bm_band_options *bands, uint32_t perms_max)
{
    if (c->status == BM_OK && !(bands->threshold > 0.0 && bands->threshold <= 1.0))
        c->status = bm_fail_field(c->err, "threshold", "threshold %g (more than 0, at most 1)",
                                  bands->threshold);
    if (c->status == BM_OK && !(bands->recall > 0.0 && bands->recall < 1.0))
        c->status =
            bm_fail_field(c->err, "recall", "recall %g (more than 0, less than 1)", bands->recall);
    if (c->status == BM_OK && (bands->bands == 0) != (bands->rows == 0))
        c->status = bm_fail_field(c->err, bands->bands == 0 ? "rows" : "bands",
                                  "`bands` without `rows` or `rows` without `bands` (both or "
                                  "neither)");
    if (c->status == BM_OK && (uint64_t)bands->bands * bands->rows > perms_max)
        c->status =
            bm_fail_field(c->err, "bands", "%u bands of %u rows (bands times rows at most %u)",
                          bands->bands, bands->rows, perms_max);
    check_reserved(c, "bands", bands->reserved, N_OF(bands->reserved));
}

static void check_device(check *c, const bm_device_options *device)
{
    check_enum(c, BM_OPTION_OFFLOAD, device->text_offload);
    check_number(c, "probe_seconds", device->probe_seconds);
    check_number(c, "call_seconds", device->call_seconds);
    if (c->status == BM_OK && device->reserved_flags != 0)
        check_reserved(c, "device", &(uint64_t){device->reserved_flags}, 1);
    check_reserved(c, "device", device->reserved, N_OF(device->reserved));
}

bm_status bm_option_list_check(const char *field, const char *const *list, size_t n, bm_error *err)
{
    if (list == NULL && n > 0)
        return bm_fail_field(err, field, "`%s` is NULL and has %zu entries", field, n);
    for (size_t i = 0; i < n; i++)
        if (list[i] == NULL)
            return bm_fail_field(err, field, "entry %zu of `%s` is NULL", i, field);
    return BM_OK;
}

bm_status bm_option_number_check(const char *field, double value, bm_error *err)
{
    return value != value ? bm_fail_field(err, field, "`%s` is no number", field) : BM_OK;
}

bm_status bm_option_threads_check(uint32_t threads, bm_error *err)
{
    if (threads <= BM_THREADS_MAX)
        return BM_OK;
    return bm_fail_field(err, "threads", "%u threads (at most %u)", threads, BM_THREADS_MAX);
}

bm_status bm_option_hash_check(const bm_text_options *text, const bm_sketch_options *sketch,
                               bm_error *err)
{
    char known[BM_SCHEME_HASHES];
    if (bm_scheme_takes_hash(sketch->scheme, text->hash))
        return BM_OK;
    bm_scheme_hash_words(sketch->scheme, known);
    return bm_fail_field(err, "hash", "`hash` %s with `scheme` %s (%s)",
                         bm_option_word(BM_OPTION_HASH, text->hash),
                         bm_option_word(BM_OPTION_SCHEME, sketch->scheme), known);
}

bm_status bm_option_parts_check(const bm_option_parts *parts, bm_error *err)
{
    check c = {BM_OK, err};
    if (parts->input != NULL)
        check_input(&c, parts->input);
    if (parts->sketch != NULL)
        check_sketch(&c, parts->sketch);
    if (parts->resources != NULL)
        check_resources(&c, parts->resources);
    if (parts->text != NULL)
        check_text(&c, parts->text, parts->weighs);
    if (c.status == BM_OK && parts->text != NULL && parts->sketch != NULL)
        c.status = bm_option_hash_check(parts->text, parts->sketch, err);
    if (parts->bands != NULL)
        check_bands(&c, parts->bands, parts->perms_max != 0 ? parts->perms_max : BM_PERMS_MAX);
    if (parts->device != NULL)
        check_device(&c, parts->device);
    if (parts->output != NULL)
        check_reserved(&c, "output", parts->output->reserved, N_OF(parts->output->reserved));
    if (parts->callbacks != NULL)
        check_reserved(&c, "callbacks", parts->callbacks->reserved,
                       N_OF(parts->callbacks->reserved));
    return c.status;
}

bm_status bm_option_set_fields_check(uint64_t set_fields, bm_error *err)
{
    const uint64_t known = 2 * (uint64_t)BM_FIELD_WEIGHTS - 1;
    if ((set_fields & ~known) != 0)
        return bm_fail_field(err, "set_fields",
                             "`set_fields` has bits that this version does not know (BM_FIELD_*)");
    return BM_OK;
}
