/* SPDX-License-Identifier: Apache-2.0 */
/* simdjson_oracle.cpp -- fields of a JSON line by simdjson's DOM, which shares no code with our
 * parser: the reference for it in unit tests and in the fuzzer.
 *
 * The DOM validates the whole line, and walking an object shows every key, so the last of equal
 * keys can count. The oracle gives no answer in these cases, although simdjson may accept the line:
 *     a line that begins with a byte order mark    (later versions skip it)
 *     a string with an unpaired surrogate          (some versions let the low half through)
 *     a surrogate escape, before simdjson 3.0      (any escape after a high half was its low half)
 *     a number whose source text is wanted but cannot be told from its value    (-0, doubles) */
#include "tests/unit/json/simdjson_oracle.h"

#include <array>
#include <charconv>
#include <cstring>
#include <new>
#include <simdjson.h>
#include <string>
#include <vector>

using digits = std::array<char, 24>; // of an integer of 64 bits

struct json_oracle {
    simdjson::dom::parser parser;
    digits number;                   // of the path whose numbers come as source text
    std::vector<std::string> joined; // of each path that leads through arrays
};

namespace
{
using simdjson::dom::element;
using simdjson::dom::element_type;

bool key_is(std::string_view key, const bm_str &part)
{
    return key.size() == part.len &&
           (part.len == 0 || memcmp(key.data(), part.data, part.len) == 0);
}

// UTF-8 of a surrogate: ED, then A0 to BF. simdjson has checked the input, so it came from \u.
bool has_surrogate(std::string_view text)
{
    const char *pos = text.data(), *end = pos + text.size();
    while (pos < end) {
        pos = static_cast<const char *>(memchr(pos, 0xED, static_cast<size_t>(end - pos)));
        if (pos == nullptr)
            return false;
        if (pos + 1 < end && static_cast<unsigned char>(pos[1]) >= 0xA0)
            return true;
        pos++;
    }
    return false;
}

// Before 3.0 simdjson takes any \u escape after a high half for the low half.
bool may_have_wrong_pair(const bm_str &text)
{
    if constexpr (simdjson::SIMDJSON_VERSION_MAJOR < 3) {
        const std::string_view view(text.data, text.len);
        return view.find("\\ud") != view.npos || view.find("\\uD") != view.npos;
    }
    return false;
}

// The last value of the key in an object.
bool find_key(const simdjson::dom::object &object, const bm_str &part, element *out)
{
    bool found = false;
    for (auto field : object)
        if (key_is(field.key, part)) {
            *out = field.value;
            found = true;
        }
    return found;
}

bool find_path(const simdjson::dom::object &top, const bm_json_path &path, element *out)
{
    simdjson::dom::object object = top;
    for (size_t i = 0; i < path.n_parts; i++) {
        if (!find_key(object, path.parts[i], out))
            return false;
        if (i + 1 < path.n_parts && out->get_object().get(object) != simdjson::SUCCESS)
            return false;
    }
    return path.n_parts > 0;
}

// The source text of an integer, in `text`; false where it is not sure.
template <typename T> bool print(digits *text, T value, bm_json_field *field)
{
    if (value == 0)
        return false; // 0 or -0
    auto end = std::to_chars(text->data(), text->data() + text->size(), value).ptr;
    field->value = {text->data(), static_cast<size_t>(end - text->data())};
    return true;
}

bool read_number(digits *text, const element &value, bm_json_field *field)
{
    if (value.is<int64_t>())
        return print(text, value.get_int64().value_unsafe(), field);
    if (value.is<uint64_t>())
        return print(text, value.get_uint64().value_unsafe(), field);
    return false;
}

// `number`: where the source text of a number is written, and stays until it is used; NULL: it is
// not wanted.
bool read_value(const element &value, digits *number, bm_json_field *field)
{
    switch (value.type()) {
    case element_type::STRING: {
        std::string_view text = value.get_string().value_unsafe();
        if (has_surrogate(text))
            return false;
        field->kind = BM_JSON_STRING;
        field->value = {text.data(), text.size()};
        field->len_bytes = text.size();
        return true;
    }
    case element_type::INT64:
    case element_type::UINT64:
    case element_type::DOUBLE:
        field->kind = BM_JSON_NUMBER;
        return number == nullptr || read_number(number, value, field);
    case element_type::BOOL:
        field->kind = BM_JSON_BOOL;
        return true;
    case element_type::NULL_VALUE:
        field->kind = BM_JSON_NULL;
        return true;
    case element_type::ARRAY:
        field->kind = BM_JSON_ARRAY;
        return true;
    case element_type::OBJECT:
        field->kind = BM_JSON_OBJECT;
        return true;
    }
    return false;
}
// Gathers the values of a path through arrays.
struct gatherer {
    const bm_json_path *path;
    std::string *text;
    uint64_t n, wrong_at;
    bm_json_kind wrong;
    bool in_array, numbers;

    bool add(bm_json_kind kind, std::string_view said, bool inside)
    {
        if (++n > 1)
            text->push_back('\n');
        if (kind == BM_JSON_STRING || (numbers && kind == BM_JSON_NUMBER))
            text->append(said);
        else if (kind != BM_JSON_NULL && wrong_at == 0) {
            wrong = kind;
            wrong_at = n;
            in_array = inside;
        }
        return true;
    }

    // `value` is where the first `i` parts lead. False: a value that the exact parser must read.
    bool walk(const element &value, size_t i, bool inside)
    {
        if (i == path->n_parts) {
            bm_json_field field{};
            digits number;
            if (!read_value(value, numbers ? &number : nullptr, &field))
                return false;
            return add(field.kind, {field.value.data, field.value.len}, inside);
        }
        if (bm_json_part_is_array(&path->parts[i])) {
            simdjson::dom::array array;
            if (value.get_array().get(array) != simdjson::SUCCESS)
                return add(BM_JSON_MISSING, {}, inside);
            for (element child : array)
                if (!walk(child, i + 1, true))
                    return false;
            return true;
        }
        simdjson::dom::object object;
        element member;
        if (value.get_object().get(object) != simdjson::SUCCESS ||
            !find_key(object, path->parts[i], &member))
            return add(BM_JSON_MISSING, {}, inside);
        return walk(member, i + 1, inside);
    }
};

bool gather_all(const element &root, const bm_json_path &path, std::string *text,
                bm_json_field *field)
{
    gatherer all{&path, text, 0, 0, BM_JSON_MISSING, false, bm_json_path_has_numbers(&path)};
    text->clear();
    if (!all.walk(root, 0, false))
        return false;
    if (all.wrong_at != 0) {
        field->kind = all.wrong;
        field->place = all.in_array ? all.wrong_at : 0;
        return true;
    }
    field->kind = BM_JSON_STRING;
    field->value = {text->data(), text->size()};
    field->len_bytes = text->size();
    return true;
}

struct asked_paths {
    const bm_json_path *paths;
    size_t n, number_path;
};

bool read_paths(json_oracle *oracle, const element &root, const simdjson::dom::object &object,
                const asked_paths &asked, bm_json_field *fields)
{
    if (oracle->joined.size() < asked.n)
        oracle->joined.resize(asked.n);
    for (size_t i = 0; i < asked.n; i++) {
        element value;
        const bm_json_path &path = asked.paths[i];
        fields[i] = {BM_JSON_MISSING, {"", 0}, 0, 0, 0};
        if (bm_json_path_is_many(&path, path.n_parts)) {
            if (!gather_all(root, path, &oracle->joined[i], &fields[i]))
                return false;
        } else if (find_path(object, path, &value) &&
                   !read_value(value, i == asked.number_path ? &oracle->number : nullptr,
                               &fields[i])) {
            return false;
        }
    }
    return true;
}
} // namespace

extern "C" json_oracle *json_oracle_open(void)
{
    return new (std::nothrow) json_oracle;
}

extern "C" void json_oracle_close(json_oracle *oracle)
{
    delete oracle;
}

extern "C" bool json_oracle_line(json_oracle *oracle, bm_str text, const bm_json_path *paths,
                                 size_t n_paths, size_t number_path, bm_json_field *fields)
{
    if (text.len == 0 || text.data[0] == '\xEF' || may_have_wrong_pair(text))
        return false;
    element root;
    simdjson::dom::object object;
    if (oracle->parser.parse(text.data, text.len).get(root) != simdjson::SUCCESS ||
        root.get_object().get(object) != simdjson::SUCCESS)
        return false;
    return read_paths(oracle, root, object, {paths, n_paths, number_path}, fields);
}
