// module_rows.cpp -- the rows of a batch that stay, and the column with the groups of rows.

#include "module_common.h"

#include <arrow/compute/api.h>

#include <algorithm>

namespace bandmill_tables
{

constexpr const char *kLabel = "bandmill";

arrow::Result<std::shared_ptr<arrow::Field>> label_field(const arrow::Schema &schema)
{
    if (schema.GetFieldIndex(kLabel) >= 0 || !schema.GetAllFieldIndices(kLabel).empty())
        return arrow::Status::Invalid("the table has a column '", kLabel, "' already");
    return arrow::field(kLabel,
                        arrow::struct_({arrow::field("group", arrow::int64()),
                                        arrow::field("kept", arrow::boolean(), false),
                                        arrow::field("jaccard", arrow::float64())}),
                        false);
}

arrow::Result<arrow::ArrayVector> label_columns(const bm_table_label *labels, uint64_t n)
{
    arrow::Int64Builder groups;
    arrow::BooleanBuilder kept;
    arrow::DoubleBuilder jaccards;
    for (uint64_t i = 0; i < n; i++) {
        const bm_table_label &label = labels[i];
        ARROW_RETURN_NOT_OK(label.group != 0 ? groups.Append(static_cast<int64_t>(label.group))
                                             : groups.AppendNull());
        ARROW_RETURN_NOT_OK(kept.Append(label.kept != 0));
        ARROW_RETURN_NOT_OK(label.millionths != BM_TABLE_JACCARD_UNKNOWN
                                ? jaccards.Append(label.millionths / 1e6)
                                : jaccards.AppendNull());
    }
    ARROW_ASSIGN_OR_RAISE(auto g, groups.Finish());
    ARROW_ASSIGN_OR_RAISE(auto k, kept.Finish());
    ARROW_ASSIGN_OR_RAISE(auto j, jaccards.Finish());
    return arrow::ArrayVector{g, k, j};
}

// --- the rows that stay ---

namespace
{

// Of texts as views Arrow has no function that picks rows.
bool has_views(const arrow::DataType &type)
{
    if (arrow::is_binary_view_like(type.id()))
        return true;
    if (type.id() == arrow::Type::EXTENSION)
        return has_views(*static_cast<const arrow::ExtensionType &>(type).storage_type());
    const auto &fields = type.fields();
    return std::any_of(fields.begin(), fields.end(),
                       [](const auto &field) { return has_views(*field->type()); });
}

// Run for run.
arrow::Result<std::shared_ptr<arrow::Array>>
appended(const arrow::BooleanArray &stays, const arrow::Array &column, arrow::MemoryPool *pool)
{
    if (column.type_id() == arrow::Type::EXTENSION) {
        const auto &own = static_cast<const arrow::ExtensionArray &>(column);
        ARROW_ASSIGN_OR_RAISE(auto storage, appended(stays, *own.storage(), pool));
        return arrow::ExtensionType::WrapArray(column.type(), storage);
    }
    std::unique_ptr<arrow::ArrayBuilder> builder;
    ARROW_RETURN_NOT_OK(arrow::MakeBuilder(pool, column.type(), &builder));
    const arrow::ArraySpan span(*column.data());
    for (int64_t end, begin = 0; begin < stays.length(); begin = end + 1) {
        for (end = begin; end < stays.length() && stays.Value(end);)
            end++;
        ARROW_RETURN_NOT_OK(builder->AppendArraySlice(span, begin, end - begin));
    }
    return builder->Finish();
}

} // namespace

arrow::Result<std::shared_ptr<arrow::RecordBatch>>
pick_rows(const bm_table_kept &kept, uint64_t first,
          const std::shared_ptr<arrow::RecordBatch> &batch, arrow::MemoryPool *pool)
{
    arrow::BooleanBuilder builder(pool);
    for (int64_t i = 0; i < batch->num_rows(); i++)
        ARROW_RETURN_NOT_OK(builder.Append(stays_at(kept, first + static_cast<uint64_t>(i))));
    std::shared_ptr<arrow::BooleanArray> stays;
    ARROW_RETURN_NOT_OK(builder.Finish(&stays));
    const int64_t n = stays->true_count();
    if (n == batch->num_rows() || n == 0)
        return n == 0 ? batch->Slice(0, 0) : batch;
    arrow::compute::ExecContext context(pool);
    arrow::ArrayVector columns;
    for (const auto &column : batch->columns()) {
        if (has_views(*column->type())) {
            ARROW_ASSIGN_OR_RAISE(columns.emplace_back(), appended(*stays, *column, pool));
            continue;
        }
        ARROW_ASSIGN_OR_RAISE(const arrow::Datum rest,
                              arrow::compute::Filter(column, stays,
                                                     arrow::compute::FilterOptions::Defaults(),
                                                     &context));
        columns.push_back(rest.make_array());
    }
    return arrow::RecordBatch::Make(batch->schema(), n, std::move(columns));
}

} // namespace bandmill_tables
