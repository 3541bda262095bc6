// module_pick.cpp -- the rows of a batch that stay.

#include "module_common.h"

#include <arrow/compute/api.h>

#include <algorithm>

namespace bandmill_tables
{

namespace
{

// Of texts as views Arrow has no function that picks rows.
bool has_views(const arrow::DataType &type)
{
    if (type.id() == arrow::Type::STRING_VIEW || type.id() == arrow::Type::BINARY_VIEW)
        return true;
    if (type.id() == arrow::Type::EXTENSION)
        return has_views(*static_cast<const arrow::ExtensionType &>(type).storage_type());
    const auto &fields = type.fields();
    return std::any_of(fields.begin(), fields.end(),
                       [](const auto &field) { return has_views(*field->type()); });
}

arrow::Result<std::shared_ptr<arrow::Array>> filtered(const Picker &p,
                                                      const std::shared_ptr<arrow::Array> &column)
{
    arrow::compute::ExecContext context(p.pool);
    arrow::BooleanBuilder builder(p.pool);
    ARROW_RETURN_NOT_OK(builder.AppendValues(p.stays));
    ARROW_ASSIGN_OR_RAISE(auto mask, builder.Finish());
    ARROW_ASSIGN_OR_RAISE(
        const arrow::Datum rest,
        arrow::compute::Filter(column, mask, arrow::compute::FilterOptions::Defaults(), &context));
    return rest.make_array();
}

// Run for run.
arrow::Result<std::shared_ptr<arrow::Array>> appended(const Picker &p, const arrow::Array &column)
{
    if (column.type_id() == arrow::Type::EXTENSION) {
        const auto &own = static_cast<const arrow::ExtensionArray &>(column);
        ARROW_ASSIGN_OR_RAISE(auto storage, appended(p, *own.storage()));
        return arrow::ExtensionType::WrapArray(column.type(), storage);
    }
    std::unique_ptr<arrow::ArrayBuilder> builder;
    ARROW_RETURN_NOT_OK(arrow::MakeBuilder(p.pool, column.type(), &builder));
    const arrow::ArraySpan span(*column.data());
    const auto n = static_cast<int64_t>(p.stays.size());
    for (int64_t end, begin = 0; begin < n; begin = end + 1) {
        for (end = begin; end < n && p.stays[static_cast<std::size_t>(end)];)
            end++;
        ARROW_RETURN_NOT_OK(builder->AppendArraySlice(span, begin, end - begin));
    }
    return builder->Finish();
}

} // namespace

arrow::Result<std::shared_ptr<arrow::RecordBatch>>
pick(Picker &picker, const std::shared_ptr<arrow::RecordBatch> &batch)
{
    const bm_table_kept &kept = *picker.kept;
    const int64_t n = batch->num_rows();
    int64_t stay = 0;
    picker.stays.resize(static_cast<std::size_t>(n));
    for (auto &&bit : picker.stays) {
        const uint64_t row = picker.row++;
        bit = row < kept.n_rows && (kept.rows[row / 8] >> row % 8 & 1) != 0;
        stay += bit;
    }
    if (stay == n || stay == 0)
        return stay == 0 ? nullptr : batch;
    arrow::ArrayVector columns;
    for (const auto &column : batch->columns()) {
        ARROW_ASSIGN_OR_RAISE(auto rest, has_views(*column->type()) ? appended(picker, *column)
                                                                    : filtered(picker, column));
        columns.push_back(std::move(rest));
    }
    return arrow::RecordBatch::Make(batch->schema(), stay, std::move(columns));
}

} // namespace bandmill_tables
