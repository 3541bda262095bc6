# SPDX-License-Identifier: Apache-2.0
message(FATAL_ERROR "Bandmill includes a file of its parent")
