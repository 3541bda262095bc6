# SPDX-License-Identifier: Apache-2.0
"""Other libraries' interfaces, on this engine: one import changes, the rest of a program stays."""
