/* SPDX-License-Identifier: Apache-2.0 */
/* unreadable.h -- recognizes texts that were written in an encoding other than UTF-8.
 *
 * Letters of such a text become U+FFFD, which separates words. Its only shingles would be remains
 * such as a year or an address. A text is unreadable if more than a tenth of its code points, and
 * more than two, are U+FFFD or control characters (bytes below 0x20 except TAB, LF, FF and CR). It
 * does not matter whether this program or another one made the replacements. If UTF-16 is read as
 * UTF-8, half of the bytes are control characters. */
#pragma once

#include "model/batches.h"

/* Is the text unreadable? It must be valid UTF-8. */
bool bm_text_is_unreadable(bm_str text);
/* May a text with this stretch be unreadable? True if the stretch has a U+FFFD or a control
 * character. */
bool bm_text_is_odd(bm_str stretch);
