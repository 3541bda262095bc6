/* option_defaults.h -- the defaults of the documentation, of the parts that several calls share. */
#ifndef BM_MODEL_OPTION_DEFAULTS_H
#define BM_MODEL_OPTION_DEFAULTS_H

#include <bandmill/types.h>

#define BM_DEFAULT_MAX_DOC_BYTES (UINT64_C(1) << 30)

#define BM_INPUT_DEFAULTS                                                                          \
    {                                                                                              \
        .max_errors = UINT64_MAX, .max_doc_bytes = BM_DEFAULT_MAX_DOC_BYTES                        \
    }
#define BM_TEXT_DEFAULTS                                                                           \
    {                                                                                              \
        .normalize = BM_NORM_LOWER, .shingle_k = 5                                                 \
    }
#define BM_SKETCH_DEFAULTS                                                                         \
    {                                                                                              \
        .seed = 1                                                                                  \
    }
#define BM_BAND_DEFAULTS                                                                           \
    {                                                                                              \
        .threshold = 0.8, .recall = 0.95                                                           \
    }
#define BM_RESOURCE_DEFAULTS                                                                       \
    {                                                                                              \
        .checkpoint_seconds = -1                                                                   \
    }

#endif
