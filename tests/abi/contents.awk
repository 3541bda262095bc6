# SPDX-License-Identifier: Apache-2.0
# contents.awk DUMP -- what a dump of abidw holds, a line each, fields parted by tabs:
#
#     F name signature              a function
#     S struct bytes                its size; empty: opaque
#     M struct field at size type   a field: its place and size in bytes
#     E enum name value
#     T name type                   a typedef of another name
function attribute(name,   at, rest) {
    at = index($0, " " name "='")
    if (at == 0)
        return ""
    rest = substr($0, at + length(name) + 3)
    return substr(rest, 1, index(rest, "'") - 1)
}
function type_name(id) {
    if (id in called)
        return called[id]
    if (id in pointee)
        return type_name(pointee[id]) "*"
    if (id in qualified)
        return type_name(qualified[id]) " " how[id]
    if (id in element)
        return type_name(element[id]) "[" n_elements[id] "]"
    if (id in returned)
        return type_name(returned[id]) "(" parameter_names(id) ")"
    return "?" id
}
function type_bytes(id) {
    if (id in bytes)
        return bytes[id]
    if (id in pointee)
        return 8
    if (id in qualified)
        return type_bytes(qualified[id])
    return id in same ? type_bytes(same[id]) : 4 # an enum
}
function parameter_names(id,   i, text) {
    for (i = 1; i <= n_parameters[id]; i++)
        text = text (i > 1 ? ", " : "") type_name(parameter[id, i])
    return text
}
{ id = attribute("id"); name = attribute("name"); type = attribute("type-id") }
attribute("size-in-bits") != "" && id != "" { bytes[id] = attribute("size-in-bits") / 8 }
/<type-decl / { called[id] = name }
/<typedef-decl / { called[id] = name; same[id] = type }
/<pointer-type-def / { pointee[id] = type }
/<qualified-type-def / { qualified[id] = type; how[id] = attribute("const") == "yes" ? "const" : "volatile" }
/<array-type-def / { element[id] = type; array = id }
/<subrange / { n_elements[array] = attribute("length") }
/<(class|union)-decl / { called[id] = "struct " name; owner = id; owners[++n_owners] = id }
/<data-member / { at = attribute("layout-offset-in-bits") / 8 }
/<var-decl / { members[++n_members] = owner SUBSEP name SUBSEP at SUBSEP type }
/<enum-decl / { called[id] = "enum " name; in_enum = name }
/<enumerator / { print "E\t" in_enum "\t" name "\t" attribute("value") }
/<function-(decl|type) / { fn = /<function-decl / ? "decl " name : id; if (/<function-decl /) functions[++n_functions] = name }
/<parameter / { parameter[fn, ++n_parameters[fn]] = type }
/<return / { returned[fn] = type }
END {
    for (i = 1; i <= n_functions; i++) {
        fn = "decl " functions[i]
        print "F\t" functions[i] "\t" type_name(returned[fn]) " (" parameter_names(fn) ")"
    }
    for (i = 1; i <= n_owners; i++)
        print "S\t" substr(called[owners[i]], 8) "\t" bytes[owners[i]]
    for (i = 1; i <= n_members; i++) {
        split(members[i], m, SUBSEP)
        print "M\t" substr(called[m[1]], 8) "\t" m[2] "\t" m[3] "\t" type_bytes(m[4]) "\t" type_name(m[4])
    }
    for (id in same) # ours; those of the C library are its own
        if (called[id] ~ /^bm_/ && called[id] != substr(type_name(same[id]), 8) && called[id] != substr(type_name(same[id]), 6))
            print "T\t" called[id] "\t" type_name(same[id])
}
