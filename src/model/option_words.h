/* SPDX-License-Identifier: Apache-2.0 */
/* option_words.h -- the names of option values, and the documented defaults. bm_option_name and
 * bm_option_value are public (bandmill/option_names.h). */
#pragma once

#include <bandmill/option_names.h>
#include <bandmill/types.h>

#include "options/option_tests.h"

/* The name of the value. If it has no name, `otherwise`, which may be NULL. */
const char *bm_option_name_or(bm_option option, unsigned value, const char *otherwise);
/* Does the option have this value? If not, BM_ERR_USAGE names the field. */
bm_status bm_option_check(bm_option option, unsigned value, bm_error *err);
/* Write the names of the normalisation steps `bits` to `out`, in the order in which the steps are
 * applied. 0 gives "none". Cut short at `cap` bytes. */
void bm_normalize_words(uint32_t bits, char *out, size_t cap);
/* Parse a list of names of normalisation steps. False: a name is unknown. It is not checked here
 * whether steps exclude each other. */
bool bm_normalize_value(const char *list, uint32_t *bits);
/* Write the shingle as KIND:K. */
void bm_shingle_words(const bm_text_options *text, char *out, size_t cap);

/* Does this kind of verification compare the sets of documents? */
static inline bool bm_verify_reads_sets(bm_verify verify)
{
    return verify == BM_VERIFY_EXACT || verify == BM_VERIFY_CONTAINED;
}

/* option_defaults -- the documented defaults of the parts that several calls share. */

#define BM_DEFAULT_MAX_DOC_BYTES (UINT64_C(1) << 30)

#define BM_INPUT_DEFAULTS                                                                          \
    {                                                                                              \
        .max_errors = UINT64_MAX, .max_doc_bytes = BM_DEFAULT_MAX_DOC_BYTES                        \
    }
/* Replace a limit of 0, which means the default. */
static inline void bm_input_fill_limit(bm_input_options *input)
{
    if (input->max_doc_bytes == 0)
        input->max_doc_bytes = BM_DEFAULT_MAX_DOC_BYTES;
}

#define BM_TEXT_DEFAULTS                                                                           \
    {                                                                                              \
        .normalize = BM_NORM_INVISIBLE | BM_NORM_LOWER, .shingle_k = 5                             \
    }
#define BM_OVERLAP_TEXT_DEFAULTS                                                                   \
    {                                                                                              \
        .normalize = BM_NORM_INVISIBLE | BM_NORM_LOWER, .shingle_k = BM_OVERLAP_SHINGLE_K          \
    }
#define BM_SKETCH_DEFAULTS                                                                         \
    {                                                                                              \
        .seed = 1                                                                                  \
    }
#define BM_BAND_DEFAULTS                                                                           \
    {                                                                                              \
        .threshold = 0.8, .recall = 0.95                                                           \
    }
/* The parts that every job over documents has. */
#define BM_DOCUMENT_DEFAULTS                                                                       \
    .input = BM_INPUT_DEFAULTS, .text = BM_TEXT_DEFAULTS, .sketch = BM_SKETCH_DEFAULTS,            \
    .bands = BM_BAND_DEFAULTS
#define BM_RESOURCE_DEFAULTS                                                                       \
    {                                                                                              \
        .checkpoint_seconds = -1                                                                   \
    }
