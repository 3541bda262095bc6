/* SPDX-License-Identifier: Apache-2.0 */
/* cuts.h -- what the jobs that cut text out of records have in common. */
#pragma once

#include "job/job_context.h"
#include "job/rows.h"
#include "text/unicode_tables.h"

/* Can bytes be cut out of the records of these inputs, if records are written? BM_ERR_USAGE names
 * the option `field`. */
bm_status bm_cuts_check_format(const bm_job_context *context, const char *field, bm_error *err);
/* Are texts of several fields or elements? No cut crosses these. */
bool bm_cuts_meet_parts(const bm_input_options *input);
/* A row of removed.tsv: nothing but White_Space is left of the document. */
bm_status bm_cuts_write_emptied(bm_rows *removed, const bm_job_context *context, size_t doc,
                                bm_error *err);
static inline bool bm_is_white_space(uint32_t code)
{
    return code < 0x80 ? code == ' ' || (code >= '\t' && code <= '\r')
                       : (bm_char_info(code) & BM_CLASS_BITS) == BM_CLASS_SPACE;
}
/* Is text White_Space alone? It may be no UTF-8: what is no character is no White_Space. */
bool bm_text_is_blank(const char *at, const char *end);
