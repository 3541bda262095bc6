/* SPDX-License-Identifier: Apache-2.0 */
_Bool bm_py_buckets(uintptr_t to, uintptr_t first_type, uintptr_t second_type, uint32_t bands,
                    uint32_t rows);
_Bool bm_py_taker(uintptr_t to, const uintptr_t *objects);
