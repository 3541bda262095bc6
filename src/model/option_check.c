/* SPDX-License-Identifier: Apache-2.0 */
/* option_check.c -- checks options, with one function for each part.
 *
 * Tests: tests/unit/model/test_option_check.c */
#include "model/option_check.h"

#include "base/error.h"
#include "base/sized_struct.h"
#include "model/scheme_facts.h"

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

bool bm_input_given(const bm_input_options *input)
{
    return input->n_paths > 0 || input->files_from != NULL || input->stream != NULL;
}

/* Check the options of a table in memory, which is read instead of files. */
static bm_status check_stream(const bm_input_options *input, bm_error *err)
{
    if (input->n_paths > 0 || input->files_from != NULL || input->offsets_path != NULL)
        return bm_fail_field(err, "stream", "a table (`stream`) and files (one or the other)");
    if (input->format != BM_FORMAT_AUTO && input->format != BM_FORMAT_ARROW)
        return bm_fail_field(err, "format", "`format` %s of a table (`stream`: arrow)",
                             bm_option_name(BM_OPTION_FORMAT, input->format));
    return BM_OK;
}

static bm_status check_input(const bm_input_options *input, bm_error *err)
{
    if (input->stream != NULL)
        BM_TRY(check_stream(input, err));
    if (!bm_input_given(input))
        return bm_fail_field(err, "paths",
                             "no input given (files, directories or - for "
                             "standard input)");
    BM_TRY(bm_option_list_check("paths", input->paths, input->n_paths, err));
    if (input->names != NULL)
        BM_TRY(bm_option_list_check("names", input->names, input->n_paths, err));
    BM_TRY(bm_option_list_check("text_fields", input->text_fields, input->n_text_fields, err));
    BM_TRY(
        bm_option_list_check("include", input->patterns.include, input->patterns.n_include, err));
    BM_TRY(
        bm_option_list_check("exclude", input->patterns.exclude, input->patterns.n_exclude, err));
    BM_TRY(bm_fields_check(BM_PART_INPUT, &(bm_option_parts){.input = input}, err));
    return input->row_ids == 0 || input->stream != NULL
               ? BM_OK
               : bm_fail_field(err, "row_ids", "`row_ids` without a table in memory");
}

static bm_status check_sketch(const bm_sketch_options *sketch, bm_error *err)
{
    if (sketch->perms > BM_PERMS_MAX)
        return bm_fail_field(err, "perms", "%u permutations (1 to %u)", sketch->perms,
                             BM_PERMS_MAX);
    BM_TRY(bm_fields_check(BM_PART_SKETCH, &(bm_option_parts){.sketch = sketch}, err));
    if (sketch->reserved_flags != 0)
        BM_TRY(bm_reserved_check("sketch", &(uint64_t){sketch->reserved_flags}, 1, err));
    return bm_reserved_check("sketch", sketch->reserved, N_OF(sketch->reserved), err);
}

static bm_status option_threads_check(uint32_t threads, bm_error *err)
{
    if (threads <= BM_THREADS_MAX)
        return BM_OK;
    return bm_fail_field(err, "threads", "%u threads (at most %u)", threads, BM_THREADS_MAX);
}

static bm_status check_resources(const bm_resource_options *resources, bm_error *err)
{
    BM_TRY(option_threads_check(resources->threads, err));
    BM_TRY(bm_option_number_check("checkpoint_seconds", resources->checkpoint_seconds, err));
    return bm_reserved_check("resources", resources->reserved, N_OF(resources->reserved), err);
}

static bm_status check_text(const bm_text_options *text, bool weighs, bm_error *err)
{
    BM_TRY(bm_fields_check(BM_PART_TEXT, &(bm_option_parts){.text = text}, err));
    BM_TRY(bm_option_check(BM_OPTION_SHINGLE, text->shingle, err));
    if ((text->shingle_k < 1 || text->shingle_k > BM_SHINGLE_K_MAX))
        return bm_fail_field(err, "shingle_k", "shingles of %u units (1 to %u)", text->shingle_k,
                             BM_SHINGLE_K_MAX);
    if (text->normalize > BM_NORM_ALL)
        return bm_fail_field(err, "normalize", "`normalize` is %#x (BM_NORM_* bits)",
                             text->normalize);
    const uint32_t both = BM_NORM_NFC | BM_NORM_NFKC;
    if ((text->normalize & both) == both)
        return bm_fail_field(err, "normalize", "nfc and nfkc together (one of them)");
    if (text->weights != BM_WEIGHTS_NONE && !weighs)
        return bm_fail_field(err, "weights",
                             "`weights` %s (documents are weighed by sign, dedup and pairs alone)",
                             bm_option_name(BM_OPTION_WEIGHTS, text->weights));
    if (text->weights != BM_WEIGHTS_NONE && text->bag)
        return bm_fail_field(err, "bag", "`bag` and `weights` (weights count occurrences already)");
    return bm_reserved_check("text", text->reserved, N_OF(text->reserved), err);
}

static bm_status check_bands(const bm_option_parts *parts, bm_error *err)
{
    const bm_band_options *bands = parts->bands;
    const uint32_t perms_max = parts->perms_max != 0 ? parts->perms_max : BM_PERMS_MAX;
    if (!(bands->threshold > 0.0 || (parts->every_pair && bands->threshold >= 0.0)) ||
        bands->threshold > 1.0)
        return bm_fail_field(err, "threshold", "threshold %g (%s, at most 1)", bands->threshold,
                             parts->every_pair ? "0 at least" : "more than 0");
    if (!(bands->recall > 0.0 && bands->recall < 1.0))
        return bm_fail_field(err, "recall", "`recall` %g (more than 0, less than 1)",
                             bands->recall);
    if ((bands->bands == 0) != (bands->rows == 0))
        return bm_fail_field(err, bands->bands == 0 ? "rows" : "bands",
                             "`bands` without `rows` or `rows` without `bands` (both or "
                             "neither)");
    if ((uint64_t)bands->bands * bands->rows > perms_max)
        return bm_fail_field(err, "bands", "%u bands of %u rows (bands times rows at most %u)",
                             bands->bands, bands->rows, perms_max);
    return bm_reserved_check("bands", bands->reserved, N_OF(bands->reserved), err);
}

static bm_status check_device(const bm_device_options *device, bm_error *err)
{
    BM_TRY(bm_option_check(BM_OPTION_OFFLOAD, device->text_offload, err));
    BM_TRY(bm_option_number_check("probe_seconds", device->probe_seconds, err));
    BM_TRY(bm_option_number_check("call_seconds", device->call_seconds, err));
    if (device->reserved_flags != 0)
        BM_TRY(bm_reserved_check("device", &(uint64_t){device->reserved_flags}, 1, err));
    return bm_reserved_check("device", device->reserved, N_OF(device->reserved), err);
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

bm_status bm_option_hash_check(const bm_text_options *text, const bm_sketch_options *sketch,
                               bm_error *err)
{
    char known[BM_SCHEME_HASHES];
    if (bm_scheme_accepts_hash(sketch->scheme, text->hash))
        return BM_OK;
    bm_scheme_hash_words(sketch->scheme, known);
    return bm_fail_field(err, "hash", "`hash` %s with `scheme` %s (%s)",
                         bm_option_name(BM_OPTION_HASH, text->hash),
                         bm_option_name(BM_OPTION_SCHEME, sketch->scheme), known);
}

bm_status bm_option_parts_check(const bm_option_parts *parts, bm_error *err)
{
    if (parts->input != NULL)
        BM_TRY(check_input(parts->input, err));
    if (parts->sketch != NULL)
        BM_TRY(check_sketch(parts->sketch, err));
    if (parts->resources != NULL)
        BM_TRY(check_resources(parts->resources, err));
    if (parts->text != NULL)
        BM_TRY(check_text(parts->text, parts->weighs, err));
    if (parts->text != NULL && parts->sketch != NULL)
        BM_TRY(bm_option_hash_check(parts->text, parts->sketch, err));
    if (parts->bands != NULL)
        BM_TRY(check_bands(parts, err));
    if (parts->device != NULL)
        BM_TRY(check_device(parts->device, err));
    if (parts->output != NULL)
        BM_TRY(bm_reserved_check("output", parts->output->reserved, N_OF(parts->output->reserved),
                                 err));
    if (parts->callbacks != NULL)
        BM_TRY(bm_reserved_check("callbacks", parts->callbacks->reserved,
                                 N_OF(parts->callbacks->reserved), err));
    return BM_OK;
}

bm_status bm_option_set_fields_check(uint64_t set_fields, bm_error *err)
{
    /* the fields that have no row */
    uint64_t known = BM_FIELD_FORMAT | BM_FIELD_CANDIDATES | BM_FIELD_THRESHOLD;
    for (size_t i = 0; i < BM_N_ROWS; i++)
        known |= bm_field_rows[i].bit;
    if ((set_fields & ~known) != 0)
        return bm_fail_field(err, "set_fields",
                             "`set_fields` has bits that this version does not know (BM_FIELD_*)");
    return BM_OK;
}
