// What decides the memory of K and V: a model's config, their type and the options.
#ifndef HSTU_ENGINE_KV_SHAPE_H_
#define HSTU_ENGINE_KV_SHAPE_H_

#include "cache/kv_layout.h"
#include "hstu/hstu.hpp"
#include "model/config.h"

namespace hstu {

inline KvModelShape KvShapeOf(const ModelConfig& config, KvDType dtype) {
  return {config.stages,      config.num_attention_heads, config.kv_channels,
          config.hidden_size, config.max_history_tokens,  dtype};
}

// The pool's layout that page_size, kv_pages and kv_bytes ask for. Errors: those of MakeKvLayout.
Result<KvLayout> KvLayoutOf(const ModelConfig& config, const EngineOptions& options, KvDType dtype);

}  // namespace hstu

#endif  // HSTU_ENGINE_KV_SHAPE_H_
