#include "data/sequence_files.h"

#include <utility>

#include "base/error.h"

namespace hstu {
namespace {

constexpr std::size_t kFlushBytes = 1 << 20;

std::string ListNames(const std::vector<ListColumn>& columns) {
  std::string names;
  for (const ListColumn& column : columns) {
    names += ',';
    names += column.name;
  }
  return names;
}

void AppendColumn(std::span<const Interaction> rows, ListColumn::Value value, TextBuffer* text) {
  auto list = [&](auto member) {
    text->AppendList(rows.size(), [&](std::size_t i) { return rows[i].*member; });
  };
  switch (value) {
    case ListColumn::kItem:
      return list(&Interaction::item);
    case ListColumn::kTime:
      return list(&Interaction::time);
    case ListColumn::kAction:
      return list(&Interaction::action);
    case ListColumn::kPlayTime:
      return list(&Interaction::play_time);
    case ListColumn::kDuration:
      return list(&Interaction::duration);
  }
}

// Lets each column go before the next, because one user's may be large.
Status AppendColumns(std::span<const Interaction> rows, const std::vector<ListColumn>& columns,
                     SequenceFile* file) {
  for (const ListColumn& column : columns) {
    file->text().Append(",");
    AppendColumn(rows, column.value, &file->text());
    HSTU_RETURN_IF_ERROR(file->WriteOut(kFlushBytes));
  }
  return {};
}

std::string FeatureNames(const UserFeatures* features) {
  return features == nullptr ? "" : features->Header();
}

void AppendFeatures(const UserFeatures* features, std::int64_t row, TextBuffer* text) {
  if (features == nullptr) return;
  features->AppendRow(row, [text](std::string_view piece) { text->Append(piece); });
}

std::string KeyNames(const SequenceLayout& layout) {
  return layout.by_date ? "user_id,date" : "user_id";
}

void AppendKey(const Interaction& row, const SequenceLayout& layout, TextBuffer* text) {
  text->Append(row.user);
  if (!layout.by_date) return;
  text->Append(",");
  text->Append(static_cast<std::int64_t>(row.date));
}

// The difference may not fit in 64 signed bits, and is negative where rows are not by time.
bool BeginsInterval(std::int64_t first, std::int64_t time, std::int64_t interval) {
  if (time < first) return false;
  return static_cast<std::uint64_t>(time) - static_cast<std::uint64_t>(first) >=
         static_cast<std::uint64_t>(interval);
}

}  // namespace

SequenceLayout KuaiRandLayout() {
  SequenceLayout layout;
  layout.training = {{"video_id", ListColumn::kItem},
                     {"time_ms", ListColumn::kTime},
                     {"action_weights", ListColumn::kAction},
                     {"play_time_ms", ListColumn::kPlayTime},
                     {"duration_ms", ListColumn::kDuration}};
  layout.inference = layout.training;
  layout.by_date = true;
  layout.units_a_second = 1000;
  return layout;
}

SequenceLayout MovieLensLayout() {
  SequenceLayout layout;
  layout.training = {{"movie_id", ListColumn::kItem},
                     {"rating", ListColumn::kAction},
                     {"unix_timestamp", ListColumn::kTime}};
  layout.inference = {{"movie_id", ListColumn::kItem},
                      {"unix_timestamp", ListColumn::kTime},
                      {"rating", ListColumn::kAction}};
  return layout;
}

Result<SequenceFile> SequenceFile::Create(const std::string& path, std::string_view header) {
  HSTU_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  SequenceFile result(std::move(file));
  result.text_.Append(header);
  result.text_.Append("\n");
  return result;
}

Status SequenceFile::WriteOut(std::size_t least) {
  if (text_.size() < least) return {};
  HSTU_RETURN_IF_ERROR(file_.Write(text_.view()));
  text_.Clear();
  return {};
}

Status SequenceFile::EndRow() {
  text_.Append("\n");
  ++rows_;
  return WriteOut(kFlushBytes);
}

Status SequenceFile::Commit() {
  HSTU_RETURN_IF_ERROR(WriteOut(0));
  return file_.Commit();
}

TrainingWriter::TrainingWriter(SequenceFile file, const SequenceLayout& layout,
                               const UserFeatures* features)
    : file_(std::move(file)), layout_(&layout), features_(features) {}

Result<TrainingWriter> TrainingWriter::Create(const std::string& folder,
                                              const SequenceLayout& layout,
                                              const UserFeatures* features) {
  std::string header = "user_id" + ListNames(layout.training) + FeatureNames(features);
  HSTU_ASSIGN_OR_RETURN(SequenceFile file,
                        SequenceFile::Create(folder + "/" + kTrainingFile, header));
  return TrainingWriter(std::move(file), layout, features);
}

Status TrainingWriter::Add(std::span<const Interaction> rows) {
  std::int64_t user = rows.front().user;
  std::int64_t features_row = features_ == nullptr ? 0 : features_->Find(user);
  if (features_row < 0) return {};
  TextBuffer& text = file_.text();
  text.Append(user);
  HSTU_RETURN_IF_ERROR(AppendColumns(rows, layout_->training, &file_));
  AppendFeatures(features_, features_row, &text);
  return file_.EndRow();
}

void FindIntervals(std::span<const Interaction> rows, std::int64_t interval,
                   std::vector<std::int64_t>* bounds) {
  bounds->assign(1, 0);
  std::int64_t first = rows.front().time;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (!BeginsInterval(first, rows[i].time, interval)) continue;
    first = rows[i].time;
    bounds->push_back(static_cast<std::int64_t>(i));
  }
  bounds->push_back(static_cast<std::int64_t>(rows.size()));
}

InferenceWriter::InferenceWriter(SequenceFile file, const SequenceLayout& layout,
                                 const UserFeatures* features, std::int64_t interval)
    : file_(std::move(file)), layout_(&layout), features_(features), interval_(interval) {}

Result<InferenceWriter> InferenceWriter::Create(const std::string& folder,
                                                const SequenceLayout& layout,
                                                const UserFeatures* features,
                                                std::int64_t interval) {
  std::string header = KeyNames(layout) + ListNames(layout.inference) +
                       ",interval_indptr,num_intervals" + FeatureNames(features);
  HSTU_ASSIGN_OR_RETURN(SequenceFile file,
                        SequenceFile::Create(folder + "/" + kInferenceFile, header));
  return InferenceWriter(std::move(file), layout, features, interval);
}

Status InferenceWriter::Add(std::span<const Interaction> rows) {
  std::int64_t features_row = features_ == nullptr ? 0 : features_->Find(rows.front().user);
  if (features_row < 0) return {};
  FindIntervals(rows, interval_, &bounds_);
  TextBuffer& text = file_.text();
  AppendKey(rows.front(), *layout_, &text);
  HSTU_RETURN_IF_ERROR(AppendColumns(rows, layout_->inference, &file_));
  text.Append(",");
  text.AppendList(bounds_.size(), [this](std::size_t i) { return bounds_[i]; });
  text.Append(",");
  text.Append(static_cast<std::int64_t>(bounds_.size()) - 1);
  AppendFeatures(features_, features_row, &text);
  return file_.EndRow();
}

BatchesWriter::BatchesWriter(SequenceFile file, const SequenceLayout& layout, std::int64_t interval)
    : file_(std::move(file)), layout_(&layout), interval_(interval) {}

Result<BatchesWriter> BatchesWriter::Create(const std::string& folder, const SequenceLayout& layout,
                                            std::int64_t interval) {
  HSTU_ASSIGN_OR_RETURN(
      SequenceFile file,
      SequenceFile::Create(folder + "/" + kBatchesFile,
                           KeyNames(layout) + ",interval_end_ts,interval_indptr"));
  return BatchesWriter(std::move(file), layout, interval);
}

Status BatchesWriter::Add(std::span<const Interaction> rows) {
  FindIntervals(rows, interval_, &bounds_);
  TextBuffer& text = file_.text();
  for (std::size_t i = 1; i < bounds_.size(); ++i) {
    AppendKey(rows.front(), *layout_, &text);
    text.Append(",");
    text.Append(rows[static_cast<std::size_t>(bounds_[i]) - 1].time);
    text.Append(",");
    text.Append(bounds_[i]);
    HSTU_RETURN_IF_ERROR(file_.EndRow());
  }
  return {};
}

}  // namespace hstu
