// One line of a log, as preprocessing keeps it.
#ifndef HSTU_DATA_INTERACTION_H_
#define HSTU_DATA_INTERACTION_H_

#include <cstdint>

namespace hstu {

struct Interaction {
  std::int64_t user = 0;
  std::int64_t item = 0;
  std::int64_t time = 0;       // in the log's own unit: ms (KuaiRand) or s (MovieLens)
  std::int64_t play_time = 0;  // ms, KuaiRand only
  std::int64_t duration = 0;   // ms, KuaiRand only
  std::int32_t date = 0;       // such as 20220408, KuaiRand only
  std::uint8_t action = 0;     // bits of action_weights, or a rating's code
};
static_assert(sizeof(Interaction) == 48);  // what a run of them needs, in memory and on disk

}  // namespace hstu

#endif  // HSTU_DATA_INTERACTION_H_
