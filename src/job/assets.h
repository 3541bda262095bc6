/* SPDX-License-Identifier: Apache-2.0 */
/* assets.h -- style sheets, scripts and templates of pages and pictures, embedded at build time
 * (cmake/embed_assets.cmake). */
#pragma once

#include <stddef.h>

typedef struct bm_asset {
    const char *name, *text; /* `text` ends with a NUL */
    size_t len;              /* bytes of the text without the NUL */
    const char *sha256;      /* SHA-256 of the text in base64, as in a Content-Security-Policy */
} bm_asset;

typedef enum bm_asset_id {
    BM_ASSET_FIGURE,   /* figure.css: for a stand-alone picture */
    BM_ASSET_PAGE,     /* figure.css and page.css */
    BM_ASSET_SCRIPT,   /* page.js */
    BM_ASSET_TEMPLATE, /* page.html */
    BM_N_ASSETS
} bm_asset_id;

extern const bm_asset bm_assets[BM_N_ASSETS];
