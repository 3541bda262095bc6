/* SPDX-License-Identifier: Apache-2.0 */
typedef struct bm_row_digest bm_row_digest;
typedef struct bm_row_facts {
    uint64_t n_rows;
    uint64_t digest[2];
    const uint64_t *ids, *texts;
    _Bool whole;
} bm_row_facts;
bm_status bm_row_digest_open(const bm_input_options *input, struct ArrowArrayStream *stream,
                             _Bool each, bm_row_digest **out, bm_error *err);
void bm_row_digest_pass(bm_row_digest *rows, struct ArrowArrayStream *out);
bm_status bm_row_digest_read(bm_row_digest *rows, const char *name, bm_error *err);
bm_row_facts bm_row_digest_facts(const bm_row_digest *rows);
void bm_row_digest_close(bm_row_digest *rows);
bm_status bm_py_digest(const void *data, size_t size, uint64_t *out, bm_error *err);
_Bool bm_py_is_ours(const char *name);
