/* SPDX-License-Identifier: Apache-2.0 */
/* unreadable.h -- recognizes texts that were written in an encoding other than UTF-8.
 *
 * Their letters are U+FFFD, which separates words: the only shingles left of such a text would be a
 * year, or an address. So a text is unreadable if more than a tenth of its code points, and more
 * than two, are U+FFFD or controls (bytes below 0x20 except TAB, LF, FF and CR), whether this
 * program repaired it or another one did before. UTF-16 read as UTF-8 is half controls. */
#pragma once

#include "model/batches.h"

/* Is this text (valid UTF-8) unreadable? */
bool bm_text_is_unreadable(bm_str text);
/* May the text around this stretch be unreadable? True if the stretch has any U+FFFD or control. */
bool bm_text_is_odd(bm_str stretch);
