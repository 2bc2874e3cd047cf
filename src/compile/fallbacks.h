// Operators that artifacts leave to the built-in path, and why.
#ifndef HSTU_COMPILE_FALLBACKS_H_
#define HSTU_COMPILE_FALLBACKS_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compile/codegen.h"
#include "compile/graph.h"

namespace hstu {

using Fallbacks = std::map<std::string, std::string, std::less<>>;  // operator -> reason

// Those of a fused graph: what has no generated code, and what is asked for.
inline Fallbacks FindFallbacks(const Graph& fused, const std::vector<std::string>& asked_for) {
  Fallbacks fallbacks;
  for (const Node& node : fused.nodes) {
    if (HasGenerator(node.op)) continue;
    fallbacks[node.op] =
        IsLibraryOp(node.op)
            ? "it comes from a library, as machine code: there is no source to compile"
            : "no code is generated for it";
  }
  for (const std::string& op : asked_for) fallbacks[op] = "--fallback-ops names it";
  return fallbacks;
}

}  // namespace hstu

#endif  // HSTU_COMPILE_FALLBACKS_H_
