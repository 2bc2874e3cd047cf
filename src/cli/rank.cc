// hstu rank: requests as JSON Lines in, answers out, in the same order.
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/command.h"
#include "cli/engine_options.h"
#include "cli/profile.h"
#include "cli/standard_output.h"
#include "data/answers.h"
#include "data/line_reader.h"
#include "data/requests.h"

namespace hstu {
namespace {

struct RankOptions {
  std::string model;
  std::string requests;
  EngineOptions engine;
  std::string profile;
  std::string warm_up;
  AnswerFormat format;
};

// Requests that are computed together, and the places of those that can't be.
class Batch {
 public:
  void Add(ParsedRequest parsed) {
    Line line{std::move(parsed.user_id), std::nullopt};
    if (parsed.request.ok()) {
      Request request = std::move(parsed.request).value();
      num_ids_ += static_cast<std::int64_t>(request.items.size() + request.actions.size() +
                                            request.candidates.size());
      requests_.push_back(std::move(request));
    } else {
      line.error = parsed.request.error();
    }
    lines_.push_back(std::move(line));
  }

  bool empty() const { return lines_.empty(); }
  // About the tokens that it takes to compute it, and what it takes in memory.
  std::int64_t cost() const { return num_ids_ + static_cast<std::int64_t>(lines_.size()); }

  // Computes and writes the answers, and empties the batch. True: none is an error.
  Result<bool> Answer(Engine& engine, const AnswerFormat& format) {
    const std::vector<hstu::Answer> answers = engine.Rank(requests_);
    bool all_good = true;
    std::size_t next = 0;
    for (const Line& line : lines_) {
      std::string text;
      if (line.error) {
        text = FormatError(line.user_id, *line.error);
        all_good = false;
      } else {
        text = FormatAnswer(line.user_id, answers[next], requests_[next].candidates, format);
        all_good = all_good && !answers[next].error;
        ++next;
      }
      HSTU_RETURN_IF_ERROR(WriteStandardOutput(text + "\n"));
    }
    HSTU_RETURN_IF_ERROR(FlushStandardOutput());
    *this = Batch();
    return all_good;
  }

 private:
  struct Line {
    nlohmann::json user_id;
    std::optional<Error> error;  // not set: the next of requests_
  };

  std::vector<Line> lines_;
  std::vector<Request> requests_;
  std::int64_t num_ids_ = 0;
};

// A few full steps of the engine: memory stays bounded whatever the file's size. A pipe's writer
// may wait for each answer.
std::int64_t BatchLimit(const RankOptions& options) {
  return options.requests == "-" ? 1 : 4 * options.engine.max_step_tokens;
}

Result<int> RunRank(const RankOptions& options) {
  HSTU_ASSIGN_OR_RETURN(Engine engine, LoadEngine(options.model, options.engine));
  if (FollowedToTheEnd(engine)) return kExitOk;
  HSTU_RETURN_IF_ERROR(WarmUp(engine, options.warm_up));
  HSTU_ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(options.requests, kMaxRequestBytes));
  const std::int64_t limit = BatchLimit(options);
  bool all_good = true;
  Batch batch;
  while (true) {
    HSTU_ASSIGN_OR_RETURN(const std::optional<LineReader::Line> line, reader.Next());
    if (line) batch.Add(ParseRequest(line->text, line->number));
    if (!batch.empty() && (!line || batch.cost() >= limit)) {
      HSTU_ASSIGN_OR_RETURN(const bool good, batch.Answer(engine, options.format));
      all_good = all_good && good;
    }
    if (line) continue;
    HSTU_RETURN_IF_ERROR(WriteProfile(engine, options.profile));
    return all_good ? kExitOk : kExitBadRequests;
  }
}

}  // namespace

Runner AddRank(CLI::App& app) {
  auto options = std::make_shared<RankOptions>();
  app.add_option("--model", options->model, "folder of the model")->required();
  app.add_option("--requests", options->requests,
                 "JSON Lines; - reads standard input and flushes each answer")
      ->required();
  app.add_option("--top-k", options->format.top_k, "add the N best candidates of each task")
      ->check(CLI::Range(0, 1 << 30));
  app.add_flag("--probabilities", options->format.probabilities, "add the sigmoid of the logits");
  AddEngineOptions(app, options->engine);
  AddWarmUpOption(app, options->warm_up);
  AddRankOptions(app, options->engine);
  AddProfileOption(app, options->profile, options->engine);
  return [options] { return RunRank(*options); };
}

}  // namespace hstu
