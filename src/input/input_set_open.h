/* input_set_open.h -- from paths to the set of files that a job reads.
 *
 * Opening expands directories in byte order of their paths, reads `--files-from`, settles one
 * format for the run, and reads the first bytes of each file: its compression, and formats that are
 * refused. */
#ifndef BM_IO_INPUT_INPUT_SET_OPEN_H
#define BM_IO_INPUT_INPUT_SET_OPEN_H

#include <bandmill/status.h>

#include "input/input_set.h"

/* BM_ERR_USAGE: no input named, standard input named twice, formats that differ, fields that the
 * header rule forbids. BM_ERR_INPUT: no files, a format that we do not read, a name that promises
 * another compression. BM_ERR_IO: a path that cannot be read. BM_ERR_NOMEM. `options` is copied,
 * but what it points to is borrowed until bm_input_set_close.
 *
 * In a directory, names that begin with . or _ are left out and counted; what is no regular file
 * (and no link to one), and what `include` and `exclude` do not choose, is left out. A path
 * itself leads to a regular file, or is the name of a descriptor that the process was given
 * (base/open_file.h): of that a pipe is read once, like standard input.
 * `spool_dir`: where standard input and pipes are copied to, while they are read, so that they can
 * be read a second time; NULL: they are read once. */
bm_status bm_input_set_open(const bm_input_options *options, const char *spool_dir,
                            bm_input_set **out, bm_error *err);
/* The same with callbacks (borrowed until close, may be NULL): while a pipe or a terminal has
 * nothing to read, `cancelled` is asked a few times a second, and BM_ERR_CANCELLED returned. */
bm_status bm_input_set_open_watched(const bm_input_options *options, const char *spool_dir,
                                    const bm_callbacks *callbacks, bm_input_set **out,
                                    bm_error *err);
/* One stream of this name, which somebody else reads: nothing is opened, nor looked at. The format of the
 * options is not AUTO. BM_ERR_USAGE: fields that the header rule forbids. */
bm_status bm_input_set_open_stream(const bm_input_options *options, const char *name,
                                   bm_input_set **out, bm_error *err);

#endif
