// A model as a graph of operators: first the plain ones of the formula, after fusion those that
// kernels compute.
#ifndef HSTU_COMPILE_GRAPH_H_
#define HSTU_COMPILE_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

namespace hstu {

// A size: a constant, or that many times a symbol, whose value only a request tells.
struct Dim {
  int64_t size = 1;
  std::string symbol;  // "n0", "n1": tokens of a stage, candidates included; "m": candidates

  bool operator==(const Dim&) const = default;
};

using Shape = std::vector<Dim>;

// Where a value lies.
enum class Storage {
  kArena,    // whole, while somebody needs it
  kScratch,  // a few rows at a time, in a thread's own memory
  kPages,    // in pages of K and V
};

struct Value {
  std::string name;
  Shape shape;
  Storage storage = Storage::kArena;
  int64_t buffer = -1;  // values that lie in the same memory have the same one; -1: its own
};

// What the ops of operators from libraries begin with, before the operator's name.
inline constexpr const char* kLibraryOp = "library.";

inline bool IsLibraryOp(const std::string& op) { return op.starts_with(kLibraryOp); }

// A model's weights have these names too.
struct Node {
  std::string name;  // such as "layers.0.attention"
  std::string op;
  int64_t stage = 0;
  int64_t layer = -1;            // -1: of no layer
  std::vector<int64_t> inputs;   // values
  std::vector<int64_t> outputs;  // values
  std::vector<std::string> weights;
  std::vector<std::string> fused;  // the ops that it stands for
};

// Nodes stand in the order in which they run; each value has one node that makes it, or none.
struct Graph {
  std::vector<Value> values;
  std::vector<Node> nodes;

  int64_t Add(std::string name, Shape shape) {
    values.push_back({std::move(name), std::move(shape)});
    return static_cast<int64_t>(values.size()) - 1;
  }
  // How many nodes read a value.
  int64_t Readers(int64_t value) const;
};

// Such as "[n0, 512]".
std::string FormatShape(const Shape& shape);

// The shape of values of so many tokens and candidates.
std::vector<int64_t> ShapeOf(const Shape& shape, int64_t tokens, int64_t candidates);

}  // namespace hstu

#endif  // HSTU_COMPILE_GRAPH_H_
