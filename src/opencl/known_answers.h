/* SPDX-License-Identifier: Apache-2.0 */
/* known_answers.h -- whether results of devices are compared with the reference. */
#pragma once

typedef enum bm_answers {
    BM_ANSWERS_CHECKED,  /* with known answers at open, and with samples during the job */
    BM_ANSWERS_COMPARED, /* samples are computed and compared, but a difference is ignored */
    BM_ANSWERS_BELIEVED
} bm_answers;

/* BM_ANSWERS_CHECKED, unless a program replaces this definition. The programs of bench/double do,
 * and are never installed. They accept any answer of a device, because they measure the host beside
 * a device that computes nothing. */
extern const bm_answers bm_device_answers;
