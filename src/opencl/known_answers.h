/* SPDX-License-Identifier: Apache-2.0 */
/* known_answers.h -- are devices held against the reference? */
#pragma once

typedef enum bm_answers {
    BM_ANSWERS_CHECKED, /* with known answers when they are opened, and by samples as the job goes */
    BM_ANSWERS_COMPARED, /* the samples are computed and compared, but a difference is ignored */
    BM_ANSWERS_BELIEVED
} bm_answers;

/* They are checked. Only a program that replaces this definition by another one (the programs of
 * bench/double, which are never installed) accepts any answer of a device: it measures the host
 * beside a device that computes nothing. */
extern const bm_answers bm_device_answers;
