/* SPDX-License-Identifier: Apache-2.0 */
/* unreadable.h -- recognizes texts that were written in an encoding other than UTF-8.
 *
 * Letters of such a text become U+FFFD, which separates words, so the only shingles left would be a
 * year or an address. A text is unreadable if more than a tenth of its code points, and more than
 * two, are U+FFFD or controls (bytes below 0x20 except TAB, LF, FF and CR). It does not matter
 * whether this program replaced the letters or another one did before. Half of the bytes of UTF-16
 * read as UTF-8 are controls. */
#pragma once

#include "model/batches.h"

/* Is this text (valid UTF-8) unreadable? */
bool bm_text_is_unreadable(bm_str text);
/* May a text with this stretch be unreadable? True if the stretch has any U+FFFD or control. */
bool bm_text_is_odd(bm_str stretch);
