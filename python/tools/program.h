/* SPDX-License-Identifier: Apache-2.0 */
void bm_py_program(int argc, char **argv);
typedef struct {
    const char *name;
    bm_shingle_kind shingle;
    uint32_t shingle_k, normalize;
    bm_words words;
    bm_token_hash hash;
    bm_scheme scheme;
    uint32_t perms, bands, rows;
    double threshold;
    const char *note;
} cli_preset;
#define CLI_N_PRESETS ...
extern const cli_preset cli_presets[...];
