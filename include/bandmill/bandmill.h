/* SPDX-License-Identifier: Apache-2.0 */
/* bandmill.h -- the whole library: near-duplicate detection with MinHash on any CPU and any OpenCL
 * device.
 *
 * Pages that the headers name, such as docs/schemes.md, are installed below share/doc/bandmill. */
#ifndef BANDMILL_BANDMILL_H
#define BANDMILL_BANDMILL_H

#include <bandmill/arrow.h>
#include <bandmill/cluster.h>
#include <bandmill/device.h>
#include <bandmill/distributed.h>
#include <bandmill/exchange.h>
#include <bandmill/explain.h>
#include <bandmill/index.h>
#include <bandmill/job.h>
#include <bandmill/option_names.h>
#include <bandmill/overlap.h>
#include <bandmill/report.h>
#include <bandmill/schemes.h>
#include <bandmill/signed.h>
#include <bandmill/sketch.h>
#include <bandmill/status.h>
#include <bandmill/tune.h>
#include <bandmill/types.h>
#include <bandmill/version.h>

#endif
