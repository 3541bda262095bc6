/* SPDX-License-Identifier: Apache-2.0 */
/* cuts.h -- code shared by the jobs that cut text out of records. */
#pragma once

#include "job/job_context.h"
#include "job/rows.h"
#include "text/unicode_tables.h"

/* If the job writes records, check that text can be cut out of records in the format of its inputs.
 * If it cannot, fail with BM_ERR_USAGE; the message names the option `field`. */
bm_status bm_cuts_check_format(const bm_job_context *context, const char *field, bm_error *err);
/* Do texts consist of several fields or elements? No cut extends from one field or element to the
 * next. */
bool bm_cuts_meet_parts(const bm_input_options *input);
/* Add a row to removed.tsv for document `doc`, of which only White_Space is left after it was
 * cut. */
bm_status bm_cuts_write_emptied(bm_rows *removed, const bm_job_context *context, size_t doc,
                                bm_error *err);
static inline bool bm_is_white_space(uint32_t code)
{
    return code < 0x80 ? code == ' ' || (code >= '\t' && code <= '\r')
                       : (bm_char_info(code) & BM_CLASS_BITS) == BM_CLASS_SPACE;
}
/* Is the text only White_Space? Bytes that are not valid UTF-8 are not White_Space. */
bool bm_text_is_blank(const char *at, const char *end);
