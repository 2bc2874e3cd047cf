// Making errors: MakeError(code, "{} is ...", value), and passing them on.
#ifndef HSTU_BASE_ERROR_H_
#define HSTU_BASE_ERROR_H_

#include <fmt/format.h>

#include <utility>

#include "hstu/hstu.hpp"

namespace hstu {

template <typename... Args>
Error MakeError(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Error{code, fmt::format(format, std::forward<Args>(args)...)};
}

}  // namespace hstu

// Returns the error of a Status or Result expression from the enclosing function.
#define HSTU_RETURN_IF_ERROR(expression)                                    \
  do {                                                                      \
    if (auto status_ = (expression); !status_.ok()) return status_.error(); \
  } while (false)

#define HSTU_CONCAT_INNER_(a, b) a##b
#define HSTU_CONCAT_(a, b) HSTU_CONCAT_INNER_(a, b)

// HSTU_ASSIGN_OR_RETURN(auto x, F()): x is the value of F(), or its error is returned.
#define HSTU_ASSIGN_OR_RETURN(declaration, expression) \
  HSTU_ASSIGN_OR_RETURN_IMPL_(HSTU_CONCAT_(result_, __LINE__), declaration, expression)
#define HSTU_ASSIGN_OR_RETURN_IMPL_(result, declaration, expression) \
  auto result = (expression);                                        \
  if (!result.ok()) return result.error();                           \
  declaration = std::move(result).value()

#endif  // HSTU_BASE_ERROR_H_
