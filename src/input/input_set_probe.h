/* input_set_probe.h -- what the first bytes of a file say: compressed, or a format that is
 * refused. */
#ifndef BM_IO_INPUT_INPUT_SET_PROBE_H
#define BM_IO_INPUT_INPUT_SET_PROBE_H

#include <bandmill/status.h>

struct bm_input_set;

/* Look at the first bytes of each source: fills its compression and size, and holds what can be
 * read only once. Where bad records are skipped, one that cannot be read is noted as `unreadable`; but
 * if none can be read, the first failure is returned. */
bm_status bm_input_set_probe(struct bm_input_set *set, bm_error *err);
/* BM_ERR_INPUT where these first bytes of `name` belong to a format that is not read. */
bm_status bm_probe_refused(const char *name, const char *head, size_t len, bm_error *err);

#endif
