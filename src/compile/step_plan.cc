#include "compile/step_plan.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "compile/fusion.h"
#include "compile/graph_builder.h"
#include "compile/memory_plan.h"

namespace hstu {
namespace {

// In bytes. Logits are f32 in all types of activations.
int64_t BytesOf(const Value& value, DType dtype, int64_t rows) {
  const DType type = value.name == "logits" ? DType::kF32 : dtype;
  int64_t bytes = static_cast<int64_t>(SizeOf(type));
  for (const int64_t size : ShapeOf(value.shape, rows, rows)) bytes *= size;
  return bytes;
}

// The last node that runs while node `index` does: what goes through scratch is computed together,
// a few rows at a time.
int64_t LastTogether(const Graph& graph, std::size_t index) {
  auto last = static_cast<int64_t>(index);
  for (const int64_t output : graph.nodes[index].outputs) {
    if (graph.values[output].storage != Storage::kScratch) continue;
    for (std::size_t i = index + 1; i < graph.nodes.size(); ++i) {
      const std::vector<int64_t>& inputs = graph.nodes[i].inputs;
      if (std::find(inputs.begin(), inputs.end(), output) == inputs.end()) continue;
      last = std::max(last, LastTogether(graph, i));
    }
  }
  return last;
}

// A buffer is in use from the first node that writes it to the last that touches it.
std::vector<Lifetime> Lifetimes(const Graph& graph, DType dtype, int64_t rows) {
  std::vector<Lifetime> buffers;
  for (const Value& value : graph.values) {
    if (value.buffer < 0) continue;
    const auto index = static_cast<std::size_t>(value.buffer);
    if (index >= buffers.size()) buffers.resize(index + 1, {0, -1, -1});
    buffers[index].bytes = std::max(buffers[index].bytes, BytesOf(value, dtype, rows));
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::vector<int64_t>* values : {&graph.nodes[i].inputs, &graph.nodes[i].outputs}) {
      for (const int64_t value : *values) {
        const int64_t buffer = graph.values[value].buffer;
        if (buffer < 0) continue;
        Lifetime& lifetime = buffers[buffer];
        lifetime.last = std::max(lifetime.last, LastTogether(graph, i));
        if (lifetime.first < 0) lifetime.first = static_cast<int64_t>(i);
      }
    }
  }
  return buffers;
}

}  // namespace

StepPlan PlanStep(const ModelConfig& config, DType dtype, int64_t rows) {
  const Graph graph = Fuse(BuildGraph(config), false);
  const MemoryPlan memory = PlanMemory(Lifetimes(graph, dtype, rows));
  StepPlan plan;
  plan.rows = rows;
  plan.bytes = memory.bytes;
  plan.x.resize(config.stages.size());
  plan.uvqk.resize(config.stages.size());
  for (const Node& node : graph.nodes) {
    const Value& output = graph.values[node.outputs[0]];
    if (output.buffer < 0) continue;
    const int64_t offset = memory.offsets[output.buffer];
    if (node.op == "embed_tokens" || node.op == "pool_windows") plan.x[node.stage] = offset;
    if (node.op == "in_linear_silu") plan.uvqk[node.stage] = offset;
    if (output.name == "logits") plan.logits = offset;
  }
  return plan;
}

}  // namespace hstu
