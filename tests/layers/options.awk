# SPDX-License-Identifier: Apache-2.0
# options.awk -- for check_options.sh: members of the public structs of options that have no row in src/options/rows.def, and why.
#
#   awk -f options.awk src/options/rows.def include/bandmill/types.h include/bandmill/job.h
#
# A member of a part (bm_input_options ...) has a row if a FIELD or a CLI of it names its place; one of a call (bm_dedup_options ...), if
# OF_CALL takes it, or if a FIELD of pairs or results has its name. Exit 1: a member has neither a row nor a reason here, or a reason is out
# of date. Plain POSIX awk.
function without(struct, members, why,   part, n, i) {
    n = split(members, part, " ")
    for (i = 1; i <= n; i++) reason["bm_" struct "_options." part[i]] = why
}
BEGIN {
    without("input", "n_paths n_text_fields", "the length of a list")
    without("input", "paths names patterns", "operands, and lists of the program")
    without("input", "stream stream_name row_ids", "documents in memory")
    without("text", "shingle_k of_scheme", "of shingle and hash")
    without("device", "cpu cache_dir tuning_path probe_program probe_seconds call_seconds kernel_family kernel_params buffer_limit_bytes text_offload n_stuck by_default", "of the environment")
    without("resource", "checkpoint_seconds", "of the environment")
    without("output", "command ready ready_ctx", "a function of the caller's")
    n_parts = split("input text sketch bands device resources output callbacks", list, " ")
    for (i = 1; i <= n_parts; i++) is_part[list[i]] = 1
    n_calls = split("sign dedup pairs filter", list, " ")
    for (i = 1; i <= n_calls; i++) {
        without(list[i], "write write_ctx json decimals sources set_fields", "how a call is made")
    }
    without("dedup", "candidates keep keep_rules against against_text_fields against_id_field against_threshold containment n_against n_against_text_fields", "lists and rules, which the job reads")
    without("sign", "band_keys resume shard n_shards", "the job of signing takes them by hand")
    without("filter", "path paths n_paths files_from files_from_nul include exclude n_include n_exclude", "operands and inputs")
}
FILENAME ~ /\.def$/ { text = text $0 "\n"; next }
/^typedef struct bm_[a-z_]+_options \{/ { struct = $3; in_struct = 1; next }
/^}/ { in_struct = 0 }
!in_struct { next }
{
    line = $0
    if (in_comment) { if (line ~ /\*\//) in_comment = 0; next }
    if (line ~ /\/\*/ && line !~ /\*\//) in_comment = 1
    sub(/\/\*.*/, "", line)
    if (line !~ /^    [a-z].*;/) next
    sub(/;.*/, "", line)
    n = split(line, part, ",")
    for (i = 1; i <= n; i++) {
        member = part[i]; sub(/\[.*/, "", member); sub(/.*[ *]/, "", member)
        call = struct; sub(/^bm_/, "", call); sub(/_options$/, "", call)
        place = call == "band" ? "bands" : call == "resource" ? "resources" : call
        if (member ~ /^(struct_size|reserved.*)$/ || member in is_part) continue
        n_members++
        CALL = toupper(call)
        has = text ~ ("PLACE_" toupper(place) "\\((([a-z_]+)\\.)?(n_)?" member "\\)") || text ~ ("[ (]" place "\\." member "[,)]") ||
              text ~ ("\nOF_" CALL "\\(" member ",")
        name = struct "." member
        if (!has && !(name in reason)) { print name ": no row in src/options/rows.def, and no reason in tests/layers/options.awk"; bad = 1 }
        if (has && (name in reason)) stale[name] = 1
        seen[name] = 1
    }
}
END {
    for (name in stale) if (name !~ /\.(cpu|patterns)$/) { print name ": has a row, and a reason in tests/layers/options.awk"; bad = 1 }
    exit bad || n_members < 40
}
