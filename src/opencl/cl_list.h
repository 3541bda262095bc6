/* SPDX-License-Identifier: Apache-2.0 */
/* cl_list.h -- lists the devices in a child process (cl_child.h). */
#pragma once

#include <bandmill/status.h>

#include "opencl/cl_listing.h"

/* For the child: list the devices, write them to stdout (cl_list_answer), and record the success.
 * After this call, output of drivers to stdout goes to stderr. */
bm_status bm_cl_list_in_child(const char *cache_dir, bm_error *err);

/* cl_list_answer -- the list of devices as it is passed between processes: a file that the child
 * writes last. The file shows whether it is complete.
 *
 *     "BMCLLST1" | bytes of a bm_device_info, 4 | devices, 4 | note, 640 | the devices */
