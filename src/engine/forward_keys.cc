// Attention of a step whose keys several ranks share: every rank attends with all queries to the
// chunks of keys that it has; the parts of all are joined in the order of chunks, or of ranks.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/forward.h"
#include "kernels/attention_update.h"

namespace hstu {
namespace {

constexpr size_t kBlocksTogether = 8;  // one part of an exchange

constexpr float kNothing = -std::numeric_limits<float>::infinity();
constexpr float kLn2 = 0.693147180559945309f;

// A chunk's part ends with these for each row, as hstu_attention leaves it: the largest score, in
// base 2, and the sum of weights relative to it.
struct RowSum {
  float top;
  float total;
};

RowSum* RowSums(float* part, int64_t rows, int64_t dim) {
  return reinterpret_cast<RowSum*>(part + rows * dim);
}

// From sums to an attention output and its log-sum-exp.
void Normalise(const float* part, int64_t rows, int64_t dim, float* out, float* lse) {
  const RowSum* sums = RowSums(const_cast<float*>(part), rows, dim);
  for (int64_t row = 0; row < rows; ++row) {
    const bool seen = sums[row].total > 0.0f;
    const float factor = seen ? 1.0f / sums[row].total : 0.0f;
    lse[row] = seen ? sums[row].top * kLn2 + std::log(sums[row].total) : kNothing;
    for (int64_t i = row * dim; i < (row + 1) * dim; ++i) out[i] = part[i] * factor;
  }
}

// The other way: the part of a chunk with this result.
void MakePart(const float* lse, int64_t rows, int64_t dim, float* part) {
  RowSum* sums = RowSums(part, rows, dim);
  for (int64_t row = 0; row < rows; ++row) {
    const bool seen = lse[row] > kNothing;
    sums[row] = {seen ? lse[row] / kLn2 : kNothing, seen ? 1.0f : 0.0f};
  }
}

}  // namespace

// The chunks of keys that rows of a block see.
Forward::Chunks Forward::ChunksOf(const AttentionBlock& block) {
  int64_t begin = std::numeric_limits<int64_t>::max();
  int64_t end = 0;
  for (int64_t i = 0; i < block.rows(); ++i) {
    const KeyInterval seen = block.stage->mask.History(block.position + i);
    if (seen.begin >= seen.end) continue;
    begin = std::min(begin, seen.begin);
    end = std::max(end, seen.end);
  }
  if (begin >= end) return {0, 0};
  return {begin / kKeyChunk, CeilDiv(end, kKeyChunk) - begin / kKeyChunk};
}

// Floats that a rank gives of one head of a block.
int64_t Forward::SharedFloats(const AttentionBlock& block, int64_t rank) const {
  const Chunks chunks = ChunksOf(block);
  if (chunks.count == 0) return 0;
  const SharedKeys& keys = *ranks_->keys;
  const int64_t parts =
      keys.exact ? OwnedChunks(chunks.first, chunks.count, rank, keys.ranks()) : 1;
  return parts * HstuAttentionPart(block.rows(), config_.kv_channels);
}

void Forward::AttendOverRanks(int64_t layer, AttentionBlocks blocks) {
  SharedKeys& keys = *ranks_->keys;
  keys.exchange->SetLayer(layer);
  SizeSharedScratch(blocks);
  AttentionBlocks sent;
  for (size_t part = 0; !blocks.empty() || !sent.empty(); ++part) {
    const AttentionBlocks next = blocks.first(std::min(blocks.size(), kBlocksTogether));
    blocks = blocks.subspan(next.size());
    if (!next.empty()) AttendToOwnKeys(layer, next, part % 2);
    if (!sent.empty()) JoinSharedKeys(layer, sent, (part + 1) % 2);
    sent = next;
  }
}

void Forward::SizeSharedScratch(AttentionBlocks blocks) {
  SharedKeys& keys = *ranks_->keys;
  int64_t parts = keys.ranks();
  for (const AttentionBlock& block : blocks) parts = std::max(parts, ChunksOf(block).count);
  const int64_t dim = RoundUp(config_.kv_channels, kPanelWidth);
  const int64_t part = HstuAttentionPart(kQueryBlock, config_.kv_channels);
  const auto floats = static_cast<size_t>((parts + 1) * part + AttentionUpdateScratch(parts, dim));
  for (auto& scratch : keys.scratch) {
    if (scratch.size() < floats) scratch.resize(floats);
  }
}

// Computes this rank's part of some blocks and sends it on its way.
void Forward::AttendToOwnKeys(int64_t layer, AttentionBlocks blocks, size_t buffer) {
  SharedKeys& keys = *ranks_->keys;
  const int64_t heads = config_.num_attention_heads;
  ExchangedPart& part = keys.parts[buffer];
  std::vector<int64_t>& places = keys.places[buffer];
  std::vector<int64_t> floats(keys.ranks());
  places.clear();
  for (const AttentionBlock& block : blocks) {
    places.insert(places.end(), floats.begin(), floats.end());
    for (int64_t rank = 0; rank < keys.ranks(); ++rank) {
      floats[rank] += heads * SharedFloats(block, rank);
    }
  }
  int64_t all = 0;
  part.sizes.clear();
  for (const int64_t count : floats) {
    part.sizes.push_back(count * static_cast<int64_t>(sizeof(float)));
    all += count;
  }
  part.own.resize(floats[keys.rank()]);
  part.all.resize(all);
  pool_.Run(static_cast<int64_t>(blocks.size()) * heads, [&](int64_t task, int thread) {
    const AttentionBlock& block = blocks[task / heads];
    if (ChunksOf(block).count == 0) return;
    TraceScope scope(trace_, thread, "hstu_attention");
    const int64_t place = places[task / heads * keys.ranks() + keys.rank()] +
                          task % heads * SharedFloats(block, keys.rank());
    AttendHead(AttentionArgs(layer, block, task % heads, thread), ChunksOf(block),
               part.own.data() + place, keys.scratch[thread].data());
  });
  part.ticket = keys.exchange->Start(reinterpret_cast<const std::byte*>(part.own.data()),
                                     part.sizes, reinterpret_cast<std::byte*>(part.all.data()));
}

// One head of a block: the parts of this rank's chunks, each by itself or merged into one.
void Forward::AttendHead(const HstuAttentionArgs& args, Chunks chunks, float* to,
                         float* scratch) const {
  const SharedKeys& keys = *ranks_->keys;
  const int64_t rows = args.rows();
  const int64_t dim = args.layout.ValuePanels() * kPanelWidth;
  const int64_t size = HstuAttentionPart(rows, args.layout.dim);
  const int64_t owned = OwnedChunks(chunks.first, chunks.count, keys.rank(), keys.ranks());
  float* outs = scratch + size;  // [owned, rows, dim], [owned, rows]
  float* lses = outs + owned * rows * dim;
  if (!keys.exact) std::fill_n(to, size, 0.0f);
  int64_t done = 0;
  for (int64_t chunk = chunks.first; chunk < chunks.first + chunks.count; ++chunk) {
    if (!keys.Owns(chunk)) continue;
    float* part = keys.exact ? to + done * size : scratch;
    operators_->hstu_attention_chunk(args, chunk, part);
    if (!keys.exact && args.kind == AttentionKind::kSilu) {
      for (int64_t i = 0; i < rows * dim; ++i) to[i] += part[i];
    } else if (!keys.exact) {
      Normalise(part, rows, dim, outs + done * rows * dim, lses + done * rows);
    }
    ++done;
  }
  if (keys.exact || args.kind == AttentionKind::kSilu) return;
  MergeParts(outs, lses, done, rows, dim, to, lses + owned * rows);
}

// Softmax parts of [rows, dim] and their log-sum-exps -> out, and behind it its log-sum-exp.
void Forward::MergeParts(const float* outs, const float* lses, int64_t parts, int64_t rows,
                         int64_t dim, float* out, float* scratch) const {
  float* lse = out + rows * dim;
  if (parts == 0) {
    std::fill_n(lse, rows, kNothing);
    return;
  }
  AttentionUpdateArgs update;
  update.sp = parts;
  update.rows = rows;
  update.dim = dim;
  update.lse = reinterpret_cast<const std::byte*>(lses);
  update.parts = reinterpret_cast<const std::byte*>(outs);
  update.out = reinterpret_cast<std::byte*>(out);
  update.lse_out = reinterpret_cast<std::byte*>(lse);
  update.row_end = rows;
  update.scratch = scratch;
  operators_->attention_update(update);
}

void Forward::JoinSharedKeys(int64_t layer, AttentionBlocks blocks, size_t buffer) {
  SharedKeys& keys = *ranks_->keys;
  const int64_t heads = config_.num_attention_heads;
  const ExchangedPart& part = keys.parts[buffer];
  keys.exchange->Wait(part.ticket);
  pool_.Run(static_cast<int64_t>(blocks.size()) * heads, [&](int64_t task, int thread) {
    const AttentionBlock& block = blocks[task / heads];
    // Where each rank's floats of this head begin.
    std::vector<const float*> from(keys.ranks());
    const float* rank_floats = part.all.data();
    for (int64_t rank = 0; rank < keys.ranks(); ++rank) {
      from[rank] = rank_floats + keys.places[buffer][task / heads * keys.ranks() + rank] +
                   task % heads * SharedFloats(block, rank);
      rank_floats += part.sizes[rank] / static_cast<int64_t>(sizeof(float));
    }
    JoinHead(AttentionArgs(layer, block, task % heads, thread), ChunksOf(block), from,
             keys.scratch[thread].data());
  });
}

void Forward::JoinHead(const HstuAttentionArgs& args, Chunks chunks, std::vector<const float*> from,
                       float* scratch) const {
  const SharedKeys& keys = *ranks_->keys;
  const int64_t rows = args.rows();
  const int64_t dim = args.layout.ValuePanels() * kPanelWidth;
  const int64_t size = HstuAttentionPart(rows, args.layout.dim);
  if (chunks.count == 0) {
    operators_->hstu_attention_join(args, 0, scratch);
    return;
  }
  if (!keys.exact && args.kind == AttentionKind::kSoftmax) {
    const int64_t ranks = keys.ranks();
    float* outs = scratch + size;  // [ranks, rows, dim], [ranks, rows]
    float* lses = outs + ranks * rows * dim;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      std::copy_n(from[rank], rows * dim, outs + rank * rows * dim);
      std::copy_n(from[rank] + rows * dim, rows, lses + rank * rows);
    }
    // The log-sum-exps are read before the sums take their place.
    MergeParts(outs, lses, ranks, rows, dim, scratch, lses + ranks * rows);
    std::copy_n(scratch + rows * dim, rows, lses);
    MakePart(lses, rows, dim, scratch);
    operators_->hstu_attention_join(args, 1, scratch);
    return;
  }
  const int64_t parts = keys.exact ? chunks.count : keys.ranks();
  for (int64_t i = 0; i < parts; ++i) {
    const float*& next = from[keys.exact ? keys.OwnerOf(chunks.first + i) : i];
    std::copy_n(next, size, scratch + i * size);
    next += size;
  }
  operators_->hstu_attention_join(args, parts, scratch);
}

// Of history rows those whose keys this rank holds; `position` is the first row's.
void Forward::CacheOwnRows(int64_t layer, const PieceStage& stage, int64_t position,
                           const Rows& rows) const {
  const SharedKeys& keys = *ranks_->keys;
  for (int64_t at = 0; at < rows.count;) {
    const int64_t chunk = (position + at) / kKeyChunk;
    const int64_t count = std::min(rows.count - at, (chunk + 1) * kKeyChunk - position - at);
    if (keys.Owns(chunk)) {
      const Rows own{rows.begin + at, count};
      operators_->reshape_and_cache({Part(kK, own), Part(kV, own), position + at,
                                     workspace_.layout(),
                                     stage.memory.Layer(layer - first_layer_)});
    }
    at += count;
  }
}

}  // namespace hstu
