// module_spark.cpp -- Spark reads the columns that its own word in a file's metadata names, and no others. So a column that is
// new has its place in that word too; where the word is not as Spark writes it, the file has none, and Spark reads what is there.

#include "module_parquet.h"

#include <string_view>

namespace bandmill_tables
{

namespace
{

constexpr std::string_view kHead = R"({"type":"struct","fields":[)", kTail = "]}";

// The names of the types that a new column is of; none: another one.
std::string_view plain_name(const arrow::DataType &type)
{
    switch (type.id()) {
    case arrow::Type::INT64:
        return "long";
    case arrow::Type::BOOL:
        return "boolean";
    case arrow::Type::DOUBLE:
        return "double";
    default:
        return {};
    }
}

std::string type_of(const arrow::DataType &type);

// Names of ours, without a character that JSON escapes.
std::string field_of(const arrow::Field &field)
{
    std::string text = R"({"name":")";
    text.append(field.name()).append(R"(","type":)").append(type_of(*field.type()));
    text.append(R"(,"nullable":)").append(field.nullable() ? "true" : "false");
    return text.append(R"(,"metadata":{}})");
}

std::string type_of(const arrow::DataType &type)
{
    std::string text;
    if (type.id() != arrow::Type::STRUCT)
        return text.append("\"").append(plain_name(type)).append("\"");
    text = kHead;
    for (int i = 0; i < type.num_fields(); i++)
        text.append(i > 0 ? "," : "").append(field_of(*type.field(i)));
    return text.append(kTail);
}

// One object, of a type and the list of its fields, and nothing behind that list. Of JSON only brackets and strings are looked at.
bool is_struct(std::string_view text)
{
    if (text.size() < kHead.size() + kTail.size() || text.substr(0, kHead.size()) != kHead)
        return false;
    std::string open = "{[";
    bool quoted = false;
    for (std::size_t i = kHead.size(); i < text.size(); i++) {
        const char c = text[i];
        if (c == '\\' && quoted)
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '[' || c == '{'))
            open += c;
        else if (!quoted && (c == ']' || c == '}')) {
            if (open.empty() || open.back() != (c == ']' ? '[' : '{'))
                return false;
            open.pop_back();
            if (open.size() == 1 && text.substr(i) != kTail)
                return false;
        }
    }
    return open.empty() && !quoted;
}

} // namespace

std::optional<std::string> spark_with(std::string_view text, const arrow::Field &field)
{
    if (!is_struct(text))
        return std::nullopt;
    std::string more(text.substr(0, text.size() - kTail.size()));
    if (more.size() > kHead.size())
        more += ',';
    return more.append(field_of(field)).append(kTail);
}

} // namespace bandmill_tables
