// f32 pages of the tokens that a step computes, where K and V are kept in int8.
//
// An int8 page has one scale a head, known when its last token is: so a row reads the page that it
// stands in as f32 and earlier pages as they are kept, whatever chunk they were computed in. The
// page that still fills up stays f32 from step to step: the open page.
#ifndef HSTU_ENGINE_OWN_PAGES_H_
#define HSTU_ENGINE_OWN_PAGES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/arena.h"
#include "engine/piece.h"
#include "kernels/hstu_attention.h"
#include "kernels/operators.h"

namespace hstu {

class OwnPages {
 public:
  // Of a step of up to `pages` pages; `layout` is that of the int8 pages.
  void Place(const KvPageLayout& layout, int64_t pages, Arena* arena);

  int64_t pages() const { return pages_; }

  // Makes what lies in front of a history that begins in the middle of a page zero, in all `layers`
  // of the stage: scales are made of whole pages.
  void Begin(const PieceStage& stage, int64_t layers) const;

  // The page of a position that the step computes or, where it is open, knows. `layer` counts from
  // the first of the stage.
  OwnPage At(const PieceStage& stage, int64_t layer, int64_t position) const;
  // What candidates read beside int8 pages: nothing where all pages are full.
  OwnPage OfCandidates(const PieceStage& stage, int64_t layer) const;

  // K and V of rows into their pages; `position` is the first row's.
  void Write(const Operators& operators, const PieceStage& stage, int64_t layer, int64_t position,
             const ConstActivations& k, const ConstActivations& v) const;
  // A page that got full, into int8.
  void Close(const Operators& operators, const PieceStage& stage, int64_t layer,
             int64_t position) const;
  // Keeps the page that is open at the step's end, once all have read their own.
  void Keep(const PieceStage& stage, int64_t layer) const;

 private:
  struct Page {
    std::byte* keys;
    std::byte* values;
  };

  Page Find(const PieceStage& stage, int64_t layer, int64_t position) const;
  Page Open(const PieceStage& stage, int64_t layer) const;

  KvPageLayout int8_{};
  KvPageLayout f32_{};
  int64_t pages_ = 0;
  std::byte* keys_ = nullptr;
  std::byte* values_ = nullptr;
};

}  // namespace hstu

#endif  // HSTU_ENGINE_OWN_PAGES_H_
