// What pandas makes of a CSV column: its type, and how it writes the values back.
#ifndef HSTU_DATA_PANDAS_COLUMN_H_
#define HSTU_DATA_PANDAS_COLUMN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hstu {

// Whether pandas.read_csv takes a field for a gap ("", "NA", "nan", "NULL" ...).
bool IsGap(std::string_view text);

// A float as Python prints it: 12.0, 1e-05, 1e+16, nan.
std::string PythonFloat(double value);

// The distinct texts of a column, in order of first appearance, as to_csv writes them: integers
// canonically, integers with gaps as floats, gaps as nothing, text in quotes where it needs them.
std::vector<std::string> AsPandasWrites(const std::vector<std::string>& distinct);

// The distinct texts of a column numbered from 1 in order of first appearance, after pandas' view
// of which are equal (1 and 01 in a column of integers, all gaps).
std::vector<std::int64_t> NumberedByAppearance(const std::vector<std::string>& distinct);

}  // namespace hstu

#endif  // HSTU_DATA_PANDAS_COLUMN_H_
