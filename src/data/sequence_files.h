// The three processed files: sequences for training, and sequences and batches for inference.
#ifndef HSTU_DATA_SEQUENCE_FILES_H_
#define HSTU_DATA_SEQUENCE_FILES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/atomic_file.h"
#include "data/interaction.h"
#include "data/text_buffer.h"
#include "data/user_features.h"
#include "hstu/hstu.hpp"

namespace hstu {

inline constexpr const char* kTrainingFile = "processed_seqs.csv";
inline constexpr const char* kInferenceFile = "processed_seqs_inference.csv";
inline constexpr const char* kBatchesFile = "processed_batches.csv";

// A column that holds a list, one value an interaction.
struct ListColumn {
  const char* name;
  enum Value { kItem, kTime, kAction, kPlayTime, kDuration } value;
};

// How a dataset's files are laid out.
struct SequenceLayout {
  std::vector<ListColumn> training;
  std::vector<ListColumn> inference;
  bool by_date = false;             // inference rows are a user's days, not whole users
  std::int64_t units_a_second = 1;  // of time
};

SequenceLayout KuaiRandLayout();
SequenceLayout MovieLensLayout();

// A processed file that is written row by row.
class SequenceFile {
 public:
  static Result<SequenceFile> Create(const std::string& path, std::string_view header);
  TextBuffer& text() { return text_; }
  Status EndRow();                     // ends the line
  Status WriteOut(std::size_t least);  // what has been appended, if it is that many bytes
  Status Commit();
  std::int64_t rows() const { return rows_; }
  const std::string& path() const { return file_.path(); }

 private:
  explicit SequenceFile(AtomicFile file) : file_(std::move(file)) {}
  AtomicFile file_;
  TextBuffer text_;
  std::int64_t rows_ = 0;
};

// One row a user: id, lists, features. `features` may be null: then all users have a row.
class TrainingWriter {
 public:
  static Result<TrainingWriter> Create(const std::string& folder, const SequenceLayout& layout,
                                       const UserFeatures* features);
  // `rows` of one user, by time. A user without features is left out.
  Status Add(std::span<const Interaction> rows);
  SequenceFile& file() { return file_; }

 private:
  TrainingWriter(SequenceFile file, const SequenceLayout& layout, const UserFeatures* features);
  SequenceFile file_;
  const SequenceLayout* layout_;
  const UserFeatures* features_;
};

// Where a user's (or a day's) rows are cut into intervals: 0, ..., rows.size(). An interval begins
// where a row is at least `interval` after the first row of the interval before.
void FindIntervals(std::span<const Interaction> rows, std::int64_t interval,
                   std::vector<std::int64_t>* bounds);

// One row a user (and day): lists, intervals, features.
class InferenceWriter {
 public:
  static Result<InferenceWriter> Create(const std::string& folder, const SequenceLayout& layout,
                                        const UserFeatures* features, std::int64_t interval);
  // `rows` of one user (and day), in the order in which they are written. A user without features
  // is left out.
  Status Add(std::span<const Interaction> rows);
  SequenceFile& file() { return file_; }

 private:
  InferenceWriter(SequenceFile file, const SequenceLayout& layout, const UserFeatures* features,
                  std::int64_t interval);
  SequenceFile file_;
  const SequenceLayout* layout_;
  const UserFeatures* features_;
  std::int64_t interval_;
  std::vector<std::int64_t> bounds_;
};

// One row an interval of every user (and day).
class BatchesWriter {
 public:
  static Result<BatchesWriter> Create(const std::string& folder, const SequenceLayout& layout,
                                      std::int64_t interval);
  Status Add(std::span<const Interaction> rows);
  SequenceFile& file() { return file_; }

 private:
  BatchesWriter(SequenceFile file, const SequenceLayout& layout, std::int64_t interval);
  SequenceFile file_;
  const SequenceLayout* layout_;
  std::int64_t interval_;
  std::vector<std::int64_t> bounds_;
};

}  // namespace hstu

#endif  // HSTU_DATA_SEQUENCE_FILES_H_
