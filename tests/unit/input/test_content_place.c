/* SPDX-License-Identifier: Apache-2.0 */
/* Places in the content of files: the digest of the bytes before a place, however they are split,
 * and the check of a recorded place. */
#include "input/input_digest.h"

#include <criterion/criterion.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static const char text[] = "bytes of a file, and then some more of them, up to its very end";
#define LEN (sizeof text - 1)

typedef struct reading {
    size_t file, len,
        step; /* the file's number, its bytes of the text, and the bytes added at a time */
} reading;

/* Reads the text and checks it against the place `check`. Returns the status at the end. */
static bm_status read_text(const bm_content_place *check, reading r, bm_content_place *out,
                           bm_error *err)
{
    const size_t len = r.len, step = r.step;
    bm_content_tracker *tracker = NULL;
    cr_assert_eq(bm_content_tracker_open(check, &tracker, NULL), BM_OK);
    bm_content_tracker_begin(tracker, r.file);
    bm_status status = BM_OK;
    for (size_t at = 0; status == BM_OK && at < len; at += step)
        status = bm_content_tracker_add(tracker, text + at, len - at < step ? len - at : step,
                                        "name", err);
    if (out != NULL)
        *out = bm_content_tracker_place(tracker);
    if (status == BM_OK)
        status = bm_content_tracker_end(tracker, "name", err);
    bm_content_tracker_close(tracker);
    return status;
}

Test(content_place, is_a_digest_of_the_bytes_before_it_however_they_come)
{
    const XXH128_hash_t sum = XXH3_128bits(text, LEN);
    for (size_t step = 1; step <= LEN; step++) {
        bm_content_place place;
        cr_assert_eq(read_text(NULL, (reading){3, LEN, step}, &place, NULL), BM_OK);
        cr_assert(place.known && place.file == 3 && place.bytes == LEN);
        cr_assert(place.digest.lo == sum.low64 && place.digest.hi == sum.high64);
    }
}

Test(content_place, is_passed_by_the_same_bytes_and_by_no_others)
{
    for (size_t len = 0; len <= LEN; len++) {
        const XXH128_hash_t sum = XXH3_128bits(text, len);
        const bm_content_place good = {1, len, {sum.low64, sum.high64}, true};
        bm_content_place bad = good;
        bad.digest.hi ^= 1;
        for (size_t step = 1; step <= LEN; step += 7) {
            bm_error err = {0};
            bm_content_place end;
            cr_assert_eq(read_text(&good, (reading){1, LEN, step}, &end, NULL), BM_OK, "%zu by %zu",
                         len, step);
            cr_assert_eq(end.bytes, LEN);
            cr_assert_eq(read_text(&bad, (reading){1, LEN, step}, NULL, &err), BM_ERR_FORMAT);
            cr_assert_str_eq(err.file, "name");
            cr_assert_eq(read_text(&bad, (reading){0, LEN, step}, NULL, NULL), BM_OK,
                         "of another file");
            if (len > 0)
                cr_assert_eq(read_text(&good, (reading){1, len - 1, step}, NULL, NULL),
                             BM_ERR_FORMAT, "the file is shorter");
        }
    }
}
