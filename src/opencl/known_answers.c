/* SPDX-License-Identifier: Apache-2.0 */
/* known_answers.c -- a separate file, so that a program can be linked with another definition.
 *
 * Tests: tests/parity/test_parity_opencl.c */
#include "opencl/known_answers.h"

const bm_answers bm_device_answers = BM_ANSWERS_CHECKED;
