/* recorded_options.h -- options that contradict what documents were signed with before. */
#ifndef BM_CONTEXT_RECORDED_OPTIONS_H
#define BM_CONTEXT_RECORDED_OPTIONS_H

#include "pipeline/context/settings.h"

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

#endif
