/* SPDX-License-Identifier: Apache-2.0 */
/* unreadable.h -- texts that were written in another encoding than UTF-8.
 *
 * Their letters are U+FFFD, which separates words: what would be left of such a text as shingles is
 * a year, or an address. So a text in which more than a tenth of the code points, and more than
 * two, are U+FFFD or controls (bytes below 0x20 but TAB, LF, FF and CR) is unreadable, whether this
 * program has repaired it or another one did before. UTF-16 read as UTF-8 is half controls. */
#pragma once

#include "model/batches.h"

/* Is this text, which is valid UTF-8, unreadable? */
bool bm_text_is_unreadable(bm_str text);
/* May it be? True if it has U+FFFD or a control at all: for short stretches of a text. */
bool bm_text_is_odd(bm_str stretch);
