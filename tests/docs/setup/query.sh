#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the client of docs/query.md asks.
[ -e known ] || bandmill index build known docs/examples/articles.jsonl --device cpu -q
