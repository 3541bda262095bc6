/* SPDX-License-Identifier: Apache-2.0 */
/* sha1_hex.h -- SHA-1 of little-endian words, in hex, to compare long vectors with a reference. */
#pragma once

#include <openssl/evp.h>
#include <stdio.h>

static inline const char *sha1_hex(const void *data, size_t bytes, char out[41])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int len = 0;
    EVP_Digest(data, bytes, digest, &len, EVP_sha1(), NULL);
    for (unsigned int i = 0; i < len && i < 20; i++)
        snprintf(out + (size_t)i * 2, 3, "%02x", digest[i]);
    return out;
}
