/* SPDX-License-Identifier: Apache-2.0 */
/* known_answers.c -- a file of its own, so that a program can be linked with another in its place.
 *
 * Tests: tests/parity/test_parity_opencl.c */
#include "opencl/known_answers.h"

const bm_answers bm_device_answers = BM_ANSWERS_CHECKED;
