#include "compile/graph.h"

#include <fmt/format.h>

#include <algorithm>

namespace hstu {
namespace {

std::string FormatDim(const Dim& dim) {
  if (dim.symbol.empty()) return std::to_string(dim.size);
  return dim.size == 1 ? dim.symbol : fmt::format("{} * {}", dim.size, dim.symbol);
}

}  // namespace

int64_t Graph::Readers(int64_t value) const {
  return std::count_if(nodes.begin(), nodes.end(), [value](const Node& node) {
    return std::find(node.inputs.begin(), node.inputs.end(), value) != node.inputs.end();
  });
}

std::string FormatShape(const Shape& shape) {
  std::vector<std::string> sizes;
  for (const Dim& dim : shape) sizes.push_back(FormatDim(dim));
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

std::vector<int64_t> ShapeOf(const Shape& shape, int64_t tokens, int64_t candidates) {
  std::vector<int64_t> sizes;
  for (const Dim& dim : shape) {
    const int64_t times = dim.symbol.empty() ? 1 : dim.symbol == "m" ? candidates : tokens;
    sizes.push_back(dim.size * times);
  }
  return sizes;
}

}  // namespace hstu
