/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_json.c -- arbitrary bytes as a JSON line. Our parser accepts all that simdjson accepts, with
 * the same values; every string it returns is valid UTF-8. */
#include <string.h>

#include "base/utf8.h"
#include "fuzz_check.h"
#include "json/json_exact.h"
#include "tests/unit/json/simdjson_oracle.h"

static const bm_str parts[] = {{"text", 4}, {"a", 1}, {"b", 1}, {"id", 2}};
static const bm_str through[] = {{"a", 1}, {NULL, 0}, {"b", 1}, {NULL, 0}};
static const bm_json_path paths[] = {
    {parts, 1}, {parts + 1, 2}, {parts + 3, 1}, {through, 2}, {through, 4}};
#define N_PATHS 5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *bare = malloc(size > 0 ? size : 1); /* exact size, for AddressSanitizer */
    CHECK(bare != NULL);
    if (size > 0)
        memcpy(bare, data, size);
    bm_json_exact *exact;
    bm_json_field slow[N_PATHS], fast[N_PATHS];
    const char *broken;
    json_oracle *oracle = json_oracle_open();
    CHECK(oracle != NULL && bm_json_exact_open(paths, N_PATHS, &exact, NULL) == BM_OK);
    CHECK(bm_json_exact_run(exact, (bm_str){bare, size}, slow, &broken, NULL) == BM_OK);
    bool taken = json_oracle_line(oracle, (bm_str){bare, size}, paths, N_PATHS, 2, fast);
    CHECK(!taken || broken == NULL);
    for (int i = 0; i < N_PATHS && broken == NULL; i++) {
        CHECK(slow[i].kind != BM_JSON_STRING ||
              bm_utf8_valid_prefix(slow[i].value.data, slow[i].value.len) == slow[i].value.len);
        if (!taken)
            continue;
        CHECK(fast[i].kind == slow[i].kind && fast[i].place == slow[i].place);
        if (fast[i].kind != BM_JSON_STRING && !(fast[i].kind == BM_JSON_NUMBER && i == 2))
            continue;
        CHECK(fast[i].value.len == slow[i].value.len);
        CHECK(memcmp(fast[i].value.data, slow[i].value.data, fast[i].value.len) == 0);
    }
    bm_json_exact_close(exact);
    json_oracle_close(oracle);
    free(bare);
    return 0;
}
