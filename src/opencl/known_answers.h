/* SPDX-License-Identifier: Apache-2.0 */
/* known_answers.h -- whether results of devices are compared with the reference. */
#pragma once

typedef enum bm_answers {
    BM_ANSWERS_CHECKED,  /* with known answers at open, and with samples during the job */
    BM_ANSWERS_COMPARED, /* samples are computed and compared, but a difference is ignored */
    BM_ANSWERS_BELIEVED
} bm_answers;

/* BM_ANSWERS_CHECKED. Only a program that replaces this definition (the programs of bench/double,
 * which are never installed) accepts any answer of a device: it measures the host beside a device
 * that computes nothing. */
extern const bm_answers bm_device_answers;
