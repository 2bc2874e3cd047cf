// How figures of reports are written, in tables and in JSON.
#ifndef HSTU_DATA_REPORT_FORMAT_H_
#define HSTU_DATA_REPORT_FORMAT_H_

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "data/auc.h"

namespace hstu {

inline std::string Cell(const std::optional<double>& value) {
  return value ? fmt::format("{:.4f}", *value) : "-";
}

inline std::string IntervalCell(const Auc& auc) {
  return auc.low ? fmt::format("{:.4f} - {:.4f}", *auc.low, *auc.high) : "-";
}

inline nlohmann::ordered_json OrNull(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

// Of the whole; 0 of nothing.
inline double Share(double part, double whole) { return whole > 0 ? part / whole : 0; }

inline double Share(std::int64_t part, std::int64_t whole) {
  return Share(static_cast<double>(part), static_cast<double>(whole));
}

inline double PerSecond(std::int64_t count, double seconds) {
  return Share(static_cast<double>(count), seconds);
}

}  // namespace hstu

#endif  // HSTU_DATA_REPORT_FORMAT_H_
