/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_records.c -- arbitrary bytes as a file. The first byte chooses the format and the options,
 * the second the batches. Reading the file in one batch must give the same records as in small
 * batches; their raw bytes are in the file in order; ids and texts are valid UTF-8. */
#include <sys/mman.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "each_record.h"
#include "fuzz_check.h"

typedef struct digest {
    uint64_t hash, n;
} digest;

static void mix(digest *d, const void *data, size_t len)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < len; i++)
        d->hash = (d->hash ^ bytes[i]) * UINT64_C(0x100000001B3);
    d->hash = (d->hash ^ len) * UINT64_C(0x100000001B3);
}

static bm_status take(void *ctx, const bm_record *r, bm_error *err)
{
    digest *d = ctx;
    (void)err;
    d->n++;
    mix(d, &r->line, sizeof r->line);
    mix(d, r->raw.data, r->raw.len);
    mix(d, &r->bad, sizeof r->bad);
    if (r->bad) {
        mix(d, r->reason, strlen(r->reason));
        return BM_OK;
    }
    CHECK(bm_utf8_valid_prefix(r->id.data, r->id.len) == r->id.len);
    CHECK(bm_utf8_valid_prefix(r->text.data, r->text.len) == r->text.len);
    mix(d, r->id.data, r->id.len);
    mix(d, r->text.data, r->text.len);
    mix(d, &r->n_invalid, sizeof r->n_invalid);
    return BM_OK;
}

/* Returns the status of reading; *d gets all records. */
static bm_status read_all(const bm_input_options *options, size_t batch_bytes, uint32_t limit,
                          digest *d)
{
    bm_error err = {0};
    *d = (digest){0};
    const bm_status status =
        each_record(options, (record_batches){batch_bytes, limit}, take, d, &err);
    CHECK(status == BM_OK || err.message[0] != '\0');
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    static const bm_format formats[] = {BM_FORMAT_JSONL, BM_FORMAT_TSV,   BM_FORMAT_CSV,
                                        BM_FORMAT_LINES, BM_FORMAT_FILES, BM_FORMAT_JSON,
                                        BM_FORMAT_WET};
    static const char *const second[] = {"2"};
    char path[64];
    int fd = memfd_create("fuzz", 0);
    CHECK(fd >= 0 && write(fd, data + 2, size - 2) == (ssize_t)(size - 2));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const char *paths[] = {path, path};
    bm_input_options o = {
        .paths = paths,
        .n_paths = 2,
        .format = formats[(data[0] & 7) % 7],
        .header = BM_HEADER_BY_FIELDS,
        .max_doc_bytes = data[0] & 8 ? 20 : 1 << 20,
        .invalid_utf8 = (data[0] & 16) != 0 ? BM_INVALID_UTF8_ERROR : BM_INVALID_UTF8_REPLACE,
        .delimiter = (data[0] & 64) != 0 && ((data[0] & 7) == 1 || (data[0] & 7) == 2) ? ';' : '\0',
        .on_error = (data[0] & 128) != 0 ? BM_ON_ERROR_SKIP : BM_ON_ERROR_FAIL,
        .text_fields = second,
        .n_text_fields = (data[0] & 32) != 0 && (data[0] & 7) != 6 ? 1 : 0,
        .id_field = (data[0] & 32) != 0 && (data[0] & 7) == 6 ? "uri" : NULL};
    digest one, many;
    bm_status a = read_all(&o, (size_t)1 << 20, 0, &one);
    bm_status b = read_all(&o, 1 + data[1] % 64, data[1] / 64, &many);
    CHECK(a == b);
    CHECK(a != BM_OK || (one.hash == many.hash && one.n == many.n));
    close(fd);
    return 0;
}
