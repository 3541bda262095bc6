int64_t bm_py_token_hashes(uintptr_t list, int64_t n, int words, uint32_t *out);
