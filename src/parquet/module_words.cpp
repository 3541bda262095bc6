// module_words.cpp -- what went wrong, in a line of words and a status of ours.

#include "module_common.h"

#include <algorithm>
#include <string_view>

namespace bandmill_tables
{

// Words of one line, without the place in Arrow's sources that some of its messages end with.
static void say(bm_table_words *words, std::string_view text)
{
    text = text.substr(0, text.find(". Detail:"));
    const std::size_t n = std::min(text.size(), sizeof words->text - 1);
    for (std::size_t i = 0; i < n; i++)
        words->text[i] = text[i] == '\n' ? ' ' : text[i];
    words->text[n] = '\0';
}

bm_status fail(const arrow::Status &status, bm_table_words *words)
{
    say(words, status.message());
    if (status.IsOutOfMemory())
        return BM_ERR_NOMEM;
    return status.IsIOError() && status.detail() != nullptr ? BM_ERR_IO : BM_ERR_INPUT;
}

} // namespace bandmill_tables
