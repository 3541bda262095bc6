/* cl_list_answer.h -- the list of devices on its way from one process to another: a file that the
 * child writes whole, at its end, and that says by itself whether it is whole.
 *
 *     "BMCLLST1" | bytes of a bm_device_info, 4 | devices, 4 | note, 640 | the devices */
#ifndef BM_BACKEND_DRIVERS_CL_LIST_ANSWER_H
#define BM_BACKEND_DRIVERS_CL_LIST_ANSWER_H

#include "opencl/cl_listing.h"

/* False: it could not be written. */
bool bm_cl_list_answer_write(int fd, const bm_cl_listing *listing);
/* Read the file from its beginning. BM_NOT_FOUND: it is not there as a whole, or is of another
 * version. *out is filled; its devices are the caller's. */
bm_status bm_cl_list_answer_read(int fd, bm_cl_listing *out, bm_error *err);

#endif
