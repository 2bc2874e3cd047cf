// The definition of a user's stream, in double and row by row: appends, evictions and scores as
// they are specified, with none of the engine's code. What streams past the bound are held against.
#ifndef HSTU_ACCEPT_REFERENCE_SESSION_H_
#define HSTU_ACCEPT_REFERENCE_SESSION_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "hstu/hstu.hpp"

namespace hstu {

class Model;
struct ModelOperators;
class ThreadPool;

class ReferenceSession {
 public:
  // History is evicted in units of `page_tokens` and whole strides of every aggregation. Model,
  // operators and pool must outlive it.
  ReferenceSession(const Model& model, const ModelOperators& operators, int64_t page_tokens,
                   ThreadPool* pool);
  ~ReferenceSession();

  // Appends the request's history to the stream, then scores its candidates: logits
  // [candidates, tasks]. Contextual features are read at the stream's beginning. Errors are those
  // of a request; kHistoryTooLong for an append that is longer than what a user may keep.
  Result<std::vector<double>> Rank(const Request& request);

  // Tokens that were evicted so far.
  int64_t evicted_tokens() const;

 private:
  class Stream;
  const std::unique_ptr<Stream> stream_;
};

}  // namespace hstu

#endif  // HSTU_ACCEPT_REFERENCE_SESSION_H_
