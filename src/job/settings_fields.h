/* settings_fields.h -- fields of settings beside those that are recorded, and beside inputs for which
 * they mean nothing: loops over model/field_rows.h. */
#ifndef BM_CONTEXT_SETTINGS_FIELDS_H
#define BM_CONTEXT_SETTINGS_FIELDS_H

#include "job/settings.h"

/* `asked`: as the caller set them; `are`: as the signatures in `dir` were made and their documents
 * read. BM_ERR_USAGE names the first field of the parts input, text and sketch (but for its number
 * of permutations) that asks for something else. Ids may be numbered where those of each directory
 * were not: they shall differ over all of them. A field asks where it differs from its default or
 * has its bit in asked->recorded.set_fields. */
bm_status bm_recorded_options_check(const bm_settings *asked, const bm_settings *are,
                                    const char *dir, bm_error *err);
/* The same for an index `dir`, in which nothing is fixed about how documents are read: of text and
 * sketch, with its number of permutations, and of bands and rows. */
bm_status bm_recorded_options_check_index(const bm_settings *asked, const bm_settings *are,
                                          const char *dir, bm_error *err);

/* BM_ERR_USAGE where `format` is keys and something is asked for that band keys made elsewhere do not
 * have: texts, ids of their own, signatures, a plan, a verification. */
bm_status bm_settings_check_keys(const bm_settings *settings, bm_error *err);

/* The key of the first field in which texts are cut and hashed differently; NULL: none. Stop words are
 * settled lists. */
const char *bm_text_differs(const bm_text_options *a, const bm_text_options *b);

#endif
