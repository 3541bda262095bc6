/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.c -- an outside plugin that signs with the static library and exports only its own
 * function. */
#include <bandmill/bandmill.h>

__attribute__((visibility("default"))) unsigned plugin_first_word(const char *text, size_t len);

unsigned plugin_first_word(const char *text, size_t len)
{
    bm_signer_options options;
    bm_signer *signer = NULL;
    bm_error err;
    bm_str texts[1] = {{text, len}};
    uint32_t words[128], n_shingles[1];
    bm_signer_out out = {sizeof out, words, NULL, n_shingles};

    bm_signer_options_init(&options);
    if (bm_signer_open(&options, &signer, &err) != BM_OK)
        return 0;
    if (bm_signer_sign_texts(signer, texts, 1, &out, &err) != BM_OK)
        words[0] = 0;
    bm_signer_close(signer);
    return words[0];
}
