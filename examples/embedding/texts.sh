#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# texts.sh -- 400 documents in JSON Lines, and copies of the first 20 under other ids.
awk 'function row(id, i) {
    printf "{\"id\": \"%s\", \"text\": \"document %d of a few words that a shingle holds, and %d more\"}\n", id, i, i * i
}
BEGIN {
    for (i = 0; i < 400; i++) row(i, i)
    for (i = 0; i < 20; i++) row("copy of " i, i)
}'
