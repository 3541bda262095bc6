/* text_path.h -- do texts go to the devices, or hashes that the host makes of them?
 *
 * Text is a byte a shingle on its way, hashes are four, and the host need not make them; but the
 * device then hashes and counts. Which is faster depends on the device, the link, the shingles and
 * the threads, so both ways are tried on a fixed text when the devices are opened (some hundredths
 * of a second), and the faster one is taken for the whole job:
 *
 *     rate of a way = the slower of what the host's threads and what the devices do
 *     where a device is made of the host's own processors: the two one after the other
 *
 * $BANDMILL_CL_TEXT, for tests: `on` or `off` instead of the trial; `auto` is the rule. The result
 * of a job does not depend on it. */
#ifndef BM_PIPELINE_TEXT_PATH_H
#define BM_PIPELINE_TEXT_PATH_H

#include <bandmill/status.h>
#include <bandmill/types.h>

struct bm_engine;

typedef struct bm_text_path {
    bool able;                   /* the devices were opened for texts */
    bool taken;                  /* and get them */
    bool measured;               /* the rates below are known */
    double text_rate, hash_rate; /* bytes of text a second, all threads and devices */
} bm_text_path;

typedef enum bm_text_wish { BM_TEXT_OFF, BM_TEXT_AUTO, BM_TEXT_ON } bm_text_wish;

/* What $BANDMILL_CL_TEXT says; BM_TEXT_AUTO where it is not set or says nothing known. */
bm_text_wish bm_text_path_wish(void);
/* Fill engine->path, whose lanes are open. Lanes that fail the trial leave it at hashes: the job
 * finds out about them. BM_ERR_NOMEM. */
bm_status bm_text_path_choose(struct bm_engine *engine, const bm_text_options *options,
                              uint32_t threads, const char *cpu, bm_error *err);

#endif
