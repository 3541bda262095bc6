// module_like.cpp -- a new file like another one: its schema, metadata, codecs, encodings and versions.

#include "module_parquet.h"

#include <arrow/ipc/api.h>
#include <arrow/util/base64.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/schema.h>
#include <parquet/properties.h>

#include <algorithm>

namespace bandmill_tables
{

namespace
{

constexpr const char *kSchemaKey = "ARROW:schema";

bool is_dictionary(parquet::Encoding::type e)
{
    return e == parquet::Encoding::RLE_DICTIONARY || e == parquet::Encoding::PLAIN_DICTIONARY;
}

// An encoding that a column has instead of the plain one.
bool is_special(parquet::Encoding::type e)
{
    return e == parquet::Encoding::DELTA_BINARY_PACKED ||
           e == parquet::Encoding::DELTA_BYTE_ARRAY ||
           e == parquet::Encoding::DELTA_LENGTH_BYTE_ARRAY ||
           e == parquet::Encoding::BYTE_STREAM_SPLIT;
}

// The codec and the encodings of one column.
void column_like(const parquet::ColumnChunkMetaData &chunk, const std::string &path,
                 parquet::WriterProperties::Builder *builder)
{
    for (const auto &pages : chunk.encoding_stats())
        if (pages.page_type == parquet::PageType::DATA_PAGE_V2)
            builder->data_page_version(parquet::ParquetDataPageVersion::V2);
    builder->compression(path, chunk.compression());
    if (!chunk.is_stats_set())
        builder->disable_statistics(path);
    if (chunk.GetColumnIndexLocation().has_value())
        builder->enable_write_page_index(path);
    if (is_indexed(chunk, true))
        return; // else its dictionary was given up, as of words that hardly come twice
    builder->disable_dictionary(path);
    for (const auto encoding : chunk.encodings())
        if (is_special(encoding))
            builder->encoding(path, encoding);
}

// As the file was written, as far as it says.
std::shared_ptr<parquet::WriterProperties> properties_like(const Parquet &p)
{
    const parquet::FileMetaData &meta = *p.meta;
    parquet::WriterProperties::Builder builder;
    builder.memory_pool(pool_of(p.pool))
        ->version(meta.version())
        ->created_by("bandmill")
        ->max_row_group_length(INT64_MAX)
        ->disable_write_page_index();
    if (meta.num_row_groups() == 0)
        return builder.build();
    const auto group = meta.RowGroup(0);
    for (int column = 0; column < meta.num_columns(); column++)
        column_like(*group->ColumnChunk(column),
                    meta.schema()->Column(column)->path()->ToDotString(), &builder);
    builder.set_sorting_columns(group->sorting_columns());
    return builder.build();
}

using Metadata = std::shared_ptr<const arrow::KeyValueMetadata>;

// With Spark's word for the columns of `schema`, of which those behind the first `n` are new.
arrow::Result<Metadata> told_spark(const Metadata &own, const arrow::Schema &schema, int n)
{
    if (own == nullptr)
        return own;
    auto changed = own->Copy();
    for (int i = n; i < schema.num_fields() && changed->Contains(kSparkKey); i++) {
        ARROW_ASSIGN_OR_RAISE(const std::string word, changed->Get(kSparkKey));
        const auto more = spark_with(word, *schema.field(i));
        ARROW_RETURN_NOT_OK(more.has_value() ? changed->Set(kSparkKey, *more)
                                             : changed->Delete(kSparkKey));
    }
    return changed;
}

// The metadata of the file; Arrow's and Spark's own words for its columns with those that are new.
arrow::Result<Metadata> metadata_like(const Parquet &p, const arrow::Schema &schema)
{
    const auto own = p.meta->key_value_metadata();
    const int n = p.schema->num_fields();
    if (own == nullptr || schema.num_fields() == n)
        return own;
    ARROW_ASSIGN_OR_RAISE(const Metadata told, told_spark(own, schema, n));
    if (!told->Contains(kSchemaKey))
        return told;
    ARROW_ASSIGN_OR_RAISE(const Metadata within, told_spark(schema.metadata(), schema, n));
    ARROW_ASSIGN_OR_RAISE(auto bytes, arrow::ipc::SerializeSchema(*schema.WithMetadata(within)));
    auto changed = told->Copy();
    ARROW_RETURN_NOT_OK(changed->Set(kSchemaKey, arrow::util::base64_encode(bytes->ToString())));
    return changed;
}

// The columns as the file has them, to the letter, and those of `schema` that are new.
arrow::Result<std::shared_ptr<parquet::schema::GroupNode>>
columns_like(const Parquet &p, const arrow::Schema &schema,
             const parquet::WriterProperties &properties)
{
    using parquet::schema::GroupNode;
    const auto root = std::static_pointer_cast<GroupNode>(p.meta->schema()->schema_root());
    const GroupNode &own = *root;
    parquet::schema::NodeVector nodes;
    for (int i = 0; i < own.field_count(); i++)
        nodes.push_back(own.field(i));
    for (int i = own.field_count(); i < schema.num_fields(); i++) {
        std::shared_ptr<parquet::SchemaDescriptor> made;
        const arrow::Schema more({schema.field(i)});
        ARROW_RETURN_NOT_OK(parquet::arrow::ToParquetSchema(&more, properties, &made));
        nodes.push_back(made->group_node()->field(0));
    }
    if (schema.num_fields() == own.field_count())
        return root;
    return std::static_pointer_cast<GroupNode>(
        GroupNode::Make(own.name(), own.repetition(), nodes, nullptr, own.field_id()));
}

} // namespace

bool is_indexed(const parquet::ColumnChunkMetaData &chunk, bool untold)
{
    const auto &encodings = chunk.encodings();
    const auto &told = chunk.encoding_stats(); // of kinds of pages
    const bool plain = std::any_of(told.begin(), told.end(), [](const auto &pages) {
        return pages.page_type != parquet::PageType::DICTIONARY_PAGE && pages.count > 0 &&
               !is_dictionary(pages.encoding);
    });
    return std::any_of(encodings.begin(), encodings.end(), is_dictionary) && !plain &&
           (untold || !told.empty());
}

arrow::Result<std::unique_ptr<parquet::ParquetFileWriter>>
open_like(const Parquet &p, const arrow::Schema &schema,
          const std::shared_ptr<arrow::io::OutputStream> &sink)
{
    const auto properties = properties_like(p);
    ARROW_ASSIGN_OR_RAISE(auto metadata, metadata_like(p, schema));
    ARROW_ASSIGN_OR_RAISE(auto columns, columns_like(p, schema, *properties));
    return parquet::ParquetFileWriter::Open(sink, columns, properties, metadata);
}

} // namespace bandmill_tables
