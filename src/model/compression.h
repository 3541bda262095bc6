/* compression.h -- how the bytes of a file are compressed, on the way in and on the way out. */
#ifndef BM_MODEL_COMPRESSION_H
#define BM_MODEL_COMPRESSION_H

typedef enum bm_compression {
    BM_COMPRESSION_NONE,
    BM_COMPRESSION_GZ,
    BM_COMPRESSION_ZST,
    BM_COMPRESSION_XZ,
    BM_COMPRESSION_BZ2,
    BM_COMPRESSION_LZ4
} bm_compression;

#define BM_COMPRESSIONS 6u /* values of bm_compression */

#endif
