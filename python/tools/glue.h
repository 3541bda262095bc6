/* SPDX-License-Identifier: Apache-2.0 */
struct bm_py_cancel {
    void *python;
    int stop;
};
_Bool bm_py_cancelled(void *ctx);
struct bm_py_table {
    ...;
};
int64_t bm_py_views(uintptr_t items, int64_t n, void *views, const void **buffers, int64_t *sizes);
void bm_py_table_stream(struct bm_py_table *table, const void **buffers, int64_t n_buffers,
                        int64_t n, struct ArrowArrayStream *out);
struct bm_py_array {
    ...;
};
void bm_py_array_stream(struct bm_py_array *one, struct ArrowSchema *schema,
                        struct ArrowArray *array, struct ArrowArrayStream *out);
void bm_py_release_stream(struct ArrowArrayStream *stream);
extern "Python" void bm_py_progress(void *, const bm_progress *);
extern "Python" void bm_py_log(void *, bm_log_level, const char *);
extern "Python" int bm_py_write(void *, const char *, size_t);
