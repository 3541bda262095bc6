/* cl_list.h -- the list of devices from a process of its own (cl_child.h). */
#ifndef BM_BACKEND_DRIVERS_CL_LIST_H
#define BM_BACKEND_DRIVERS_CL_LIST_H

#include <bandmill/status.h>

/* In the child: list the devices, write them to stdout (cl_list_answer.h) and remember that it went
 * well. What drivers write to stdout goes to stderr from now on. */
bm_status bm_cl_list_in_child(const char *cache_dir, bm_error *err);

#endif
