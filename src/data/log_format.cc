#include "data/log_format.h"

namespace hstu {

LogFormat KuaiRandLog() {
  return {",",
          true,
          {{"user_id", LogField::kUser, 0},
           {"video_id", LogField::kItem, 0},
           {"date", LogField::kDate, 0},
           {"time_ms", LogField::kTime, 0},
           {"is_click", LogField::kEvent, 1},
           {"is_like", LogField::kEvent, 2},
           {"is_follow", LogField::kEvent, 4},
           {"is_comment", LogField::kEvent, 8},
           {"is_forward", LogField::kEvent, 16},
           {"is_hate", LogField::kEvent, 32},
           {"long_view", LogField::kEvent, 64},
           {"is_profile_enter", LogField::kEvent, 128},
           {"play_time_ms", LogField::kPlayTime, 0},
           {"duration_ms", LogField::kDuration, 0}},
          0};
}

LogFormat MovieLens1MLog() {
  return {"::",
          false,
          {{"user_id", LogField::kUser, 0},
           {"movie_id", LogField::kItem, 0},
           {"rating", LogField::kRating, 0},
           {"unix_timestamp", LogField::kTime, 0}},
          1};
}

LogFormat MovieLens20MLog() {
  return {",",
          true,
          {{"userId", LogField::kUser, 0},
           {"movieId", LogField::kItem, 0},
           {"rating", LogField::kRating, 0},
           {"timestamp", LogField::kTime, 0}},
          2};
}

}  // namespace hstu
