/* SPDX-License-Identifier: Apache-2.0 */
#define BM_TABLE_MODULE_ABI ...
typedef struct {
    void *file;
    uint64_t size;
    bm_status (*read)(void *file, void *out, size_t len, uint64_t at, size_t *got, bm_error *err);
    ...;
} bm_table_bytes;
typedef struct {
    const char *path;
    bm_table_bytes bytes;
    _Bool parquet;
    const char *const *columns;
    size_t n_columns;
    size_t n_needed;
    uint32_t threads;
    size_t batch_bytes;
    uint64_t memory;
    uint64_t first_row;
    uint64_t n_rows;
    _Bool (*group)(void *ctx, uint64_t rows);
    void *group_ctx;
    ...;
} bm_table_wish;
typedef struct {
    uint64_t group;
    uint64_t size;
    uint32_t millionths;
    uint32_t kept;
} bm_table_label;
typedef struct bm_table_text_cut {
    uint64_t row, from, to;
} bm_table_text_cut;
typedef struct bm_table_kept {
    const char *path;
    bm_table_bytes bytes;
    _Bool parquet;
    const uint8_t *rows;
    uint64_t n_rows;
    const bm_table_label *labels;
    uint64_t n_labels;
    const bm_table_text_cut *cuts;
    uint64_t n_cuts;
    const char *text;
    uint32_t threads;
    uint64_t memory;
    bm_write_fn write;
    void *write_ctx;
    const struct bm_table_kept *more;
    ...;
} bm_table_kept;
typedef struct {
    _Bool parquet;
    struct ArrowArrayStream *stream;
    uint64_t group_rows;
    bm_write_fn write;
    void *write_ctx;
    ...;
} bm_table_made;
typedef struct {
    char text[...];
    size_t table;
    _Bool other_schema;
    ...;
} bm_table_words;
extern "Python" int bm_py_tables_ready(char *why, size_t cap);
extern "Python" int bm_py_table_open(const bm_table_wish *wish, struct ArrowArrayStream *out,
                                     bm_table_words *words);
extern "Python" int bm_py_table_keep(const bm_table_kept *kept, bm_table_words *words);
extern "Python" int bm_py_table_write(const bm_table_made *made, bm_table_words *words);
