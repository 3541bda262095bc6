/* manifest_seal.c -- the last place where the member's name stands is the member: what is behind it
 * is its value and two brackets.
 *
 * Tests: tests/unit/output/test_manifest_seal.c, tests/cli/cases/damaged_outputs.sh */
#include "output/manifest_seal.h"

#include <string.h>

#include "base/error.h"
#include "output/digest.h"

#define SEAL   "report_xxh3_128"
#define QUOTED "\"" SEAL "\""

void bm_manifest_seal(bm_json *json)
{
    bm_digests before = {0};
    if (bm_digests_bytes(json->buf.data, json->buf.len, BM_DIGEST_XXH3, &before, NULL) != BM_OK)
        json->status = BM_ERR_NOMEM;
    bm_json_key(json, SEAL);
    bm_json_text(json, before.xxh3);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Where the member's name begins; SIZE_MAX: there is none. */
static size_t find(bm_str text)
{
    const size_t len = sizeof QUOTED - 1;
    for (size_t at = text.len < len ? 0 : text.len - len + 1; at > 0; at--)
        if (text.data[at - 1] == '"' && memcmp(text.data + at - 1, QUOTED, len) == 0)
            return at - 1;
    return SIZE_MAX;
}

bm_status bm_manifest_seal_check(const char *path, bm_str text, bm_error *err)
{
    bm_digests before;
    size_t at = find(text), end = at;
    if (at == SIZE_MAX)
        return BM_OK;
    while (end > 0 && is_space(text.data[end - 1]))
        end--;
    end -= end > 0 && text.data[end - 1] == ',';
    BM_TRY(bm_digests_bytes(text.data, end, BM_DIGEST_XXH3, &before, err));
    for (at += sizeof QUOTED - 1;
         at < text.len && (is_space(text.data[at]) || text.data[at] == ':');)
        at++;
    if (text.len - at >= BM_HASH128_HEX + 1 && text.data[at] == '"' &&
        memcmp(text.data + at + 1, before.xxh3, BM_HASH128_HEX - 1) == 0 &&
        text.data[at + BM_HASH128_HEX] == '"')
        return BM_OK;
    return bm_fail_at(err, BM_ERR_FORMAT, path, 0,
                      "its bytes are not those that were written: \"run." SEAL
                      "\" should be %s (if you edited it on purpose, remove that member)",
                      before.xxh3);
}
