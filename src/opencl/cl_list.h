/* SPDX-License-Identifier: Apache-2.0 */
/* cl_list.h -- the list of devices from a process of its own (cl_child.h). */
#pragma once

#include <bandmill/status.h>

#include "opencl/cl_listing.h"

/* In the child: list the devices, write them to stdout (cl_list.h) and remember that it went
 * well. What drivers write to stdout goes to stderr from now on. */
bm_status bm_cl_list_in_child(const char *cache_dir, bm_error *err);

/* cl_list_answer -- the list of devices on its way from one process to another: a file that the
 * child writes at once, at its end, and that shows by itself whether it is whole.
 *
 *     "BMCLLST1" | bytes of a bm_device_info, 4 | devices, 4 | note, 640 | the devices */
