/* SPDX-License-Identifier: Apache-2.0 */
_Bool bm_py_token_hashes(uintptr_t sets, const int64_t *lengths, int64_t n_sets, int words,
                         uint32_t *out);
