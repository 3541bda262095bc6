/* SPDX-License-Identifier: Apache-2.0 */
/* glob.h -- patterns of paths, as --include and --exclude take them.
 *
 *     *       any run of bytes, even an empty one, slashes included
 *     ?       one character
 *     [a-z]   one of these characters; [!a-z] one character except these. A ] must come
 *             first, a - first or last. A [ without a closing ] is literal
 *     \c      c itself
 *
 * A pattern must match the whole path. A character is a UTF-8 character, or a byte that is not part
 * of valid UTF-8. Nothing depends on the locale. */
#pragma once

#include <stdbool.h>

/* Does the pattern match the path? The time is at most proportional to the product of their
 * lengths. */
bool bm_glob_match(const char *pattern, const char *path);
