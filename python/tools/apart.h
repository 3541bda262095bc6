/* SPDX-License-Identifier: Apache-2.0 */
_Bool bm_py_apart(uintptr_t to);
struct bm_py_index {
    bm_index *index;
    long process;
};
bm_status bm_py_index_open(const char *path, const bm_index_options *options,
                           struct bm_py_index *out, bm_error *err);
void bm_py_index_close(struct bm_py_index *open);
struct bm_py_folder {
    ...;
};
int bm_py_folder_make(const char *path, struct bm_py_folder *out);
void bm_py_folder_remove(struct bm_py_folder *folder);
void bm_py_folders_begin(void);
void bm_py_drop_device_list(bm_device_list **at);
void bm_py_drop_groups(bm_groups **at);
void bm_py_drop_hash_sets(bm_hash_sets **at);
void bm_py_drop_joiner(bm_joiner **at);
void bm_py_drop_matches(bm_matches **at);
void bm_py_drop_row_digest(bm_row_digest **at);
void bm_py_drop_signed(bm_signed **at);
void bm_py_drop_signer(bm_signer **at);
void bm_py_drop_splitter(bm_splitter **at);
void bm_py_drop_string(char **at);
void bm_py_drop_summary(bm_summary **at);
void bm_py_drop_tune_result(bm_tune_result **at);
