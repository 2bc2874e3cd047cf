// Standard output with its errors: a full disk must not pass for success.
#ifndef HSTU_CLI_STANDARD_OUTPUT_H_
#define HSTU_CLI_STANDARD_OUTPUT_H_

#include <string_view>

#include "hstu/hstu.hpp"

namespace hstu {

Status WriteStandardOutput(std::string_view text);
Status FlushStandardOutput();

}  // namespace hstu

#endif  // HSTU_CLI_STANDARD_OUTPUT_H_
