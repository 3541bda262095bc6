uintptr_t bm_py_buckets(uintptr_t first_type, uintptr_t second_type, uint32_t bands, uint32_t rows);
uintptr_t bm_py_taker(const uintptr_t *objects);
