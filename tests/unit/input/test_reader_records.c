/* SPDX-License-Identifier: Apache-2.0 */
/* test_reader_records.c -- the limit of records per batch, if the reader does not look for the end
 * of each record. */
#include "tests/unit/input/read_records.h"

/* Long lines never reach the limit, so the reader does not look for the end of each; then short
 * lines come, then the same again. */
Test(reader_records, a_limit_of_records_holds_wherever_they_become_short)
{
    enum { LONG = 600, N_LONG = 300, N_SHORT = 20000 };
    char *data = malloc(2 * (N_LONG * LONG + 2 * N_SHORT)), *end = data;
    for (size_t part = 0; part < 2; part++) {
        for (size_t i = 0; i < N_LONG; i++, end += LONG) {
            memset(end, 'a' + (char)(i % 26), LONG - 1);
            end[LONG - 1] = '\n';
        }
        for (size_t i = 0; i < N_SHORT; i++, end += 2)
            memcpy(end, "x\n", 2);
    }
    SCRATCH dir = scratch_open();
    const char *path = scratch_put(&dir, "a.txt", data, (size_t)(end - data));
    const char *paths[] = {path};
    bm_input_options o = test_options(paths, 1, BM_FORMAT_LINES);
    for (uint32_t limit = 30; limit <= 3000; limit *= 10) {
        records r = test_read(&o, 8192, limit, false); /* test_read checks the limit */
        const char *at = data;
        cr_assert_eq(r.n, 2 * (N_LONG + N_SHORT));
        for (size_t i = 0; i < r.n; i++) {
            cr_assert_eq(r.all[i].line, i + 1);
            cr_assert(memcmp(r.all[i].raw.data, at, r.all[i].raw.len) == 0);
            at += r.all[i].raw.len;
        }
        cr_assert(at == end);
        test_free(&r);
    }
    free(data);
}
