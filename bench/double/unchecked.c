/* SPDX-License-Identifier: Apache-2.0 */
/* unchecked.c -- in the place of src/opencl/known_answers.c: this program believes its devices, for
 * they compute nothing. With DOUBLE_COMPARES it pays for the sample check all the same. */
#include "opencl/known_answers.h"

#ifdef DOUBLE_COMPARES
const bm_answers bm_device_answers = BM_ANSWERS_COMPARED;
#else
const bm_answers bm_device_answers = BM_ANSWERS_BELIEVED;
#endif
