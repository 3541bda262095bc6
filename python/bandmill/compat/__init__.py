# SPDX-License-Identifier: Apache-2.0
"""The interfaces of other libraries, implemented by this one. A program changes one import, and nothing else."""
