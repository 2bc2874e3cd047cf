// Reads gin configuration files: bindings, macros, includes; values are Python literals.
#ifndef HSTU_DATA_GIN_H_
#define HSTU_DATA_GIN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hstu/hstu.hpp"

namespace hstu {

// "@network()" or "%MACRO", of which only macros can be resolved without Python.
struct GinReference {
  std::string name;  // with its @ or %, and without "()"
};

struct GinValue;
using GinList = std::vector<GinValue>;  // a list or a tuple
struct GinDict {                        // in the order of the file
  GinList keys;
  GinList values;
};

struct GinValue {
  // monostate: None
  std::variant<std::monostate, bool, std::int64_t, double, std::string, GinReference, GinList,
               GinDict>
      value;
};

struct GinBinding {
  std::string key;  // "NetworkArgs.num_layers", "scope/FeatureArgs.is_jagged"
  GinValue value;
  std::string file;
  int line = 0;  // where the binding begins
};

struct GinFile {
  std::vector<GinBinding> bindings;  // a later one of the same key counts; macros are filled in

  // The binding that counts, or null. Not valid after changes of `bindings`.
  const GinBinding* Find(std::string_view key) const;
};

// Includes are looked for beside the including file, then where gin was run from, here the current
// folder. Imports are of no use without Python and skipped.
Result<GinFile> ReadGin(const std::string& path);

// The same of a text; `name` stands in errors. An include is an error.
Result<GinFile> ParseGin(std::string_view text, const std::string& name);

}  // namespace hstu

#endif  // HSTU_DATA_GIN_H_
