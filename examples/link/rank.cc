// Ranks two videos for a user of the KuaiRand example, by the C++ API.
#include <cstdio>
#include <hstu/hstu.hpp>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s MODEL_FOLDER\n", argv[0]);
    return 2;
  }
  auto engine = hstu::Engine::Load(argv[1]);
  if (!engine.ok()) {
    std::fprintf(stderr, "%s\n", engine.error().message.c_str());
    return 2;
  }

  hstu::Request request;
  request.contextual = {{"user_id", 17}};
  request.items = {5, 9, 12};    // videos, the oldest first
  request.actions = {1, 65, 0};  // what the user did: click; click and long view; nothing
  request.candidates = {40, 7};

  const hstu::Answer answer = engine->Rank({&request, 1})[0];
  if (answer.error) {
    std::fprintf(stderr, "%s: %s\n", hstu::ErrorName(answer.error->code),
                 answer.error->message.c_str());
    return 3;
  }
  for (std::size_t i = 0; i < request.candidates.size(); ++i) {
    std::printf("video %lld:", static_cast<long long>(request.candidates[i]));
    for (int task = 0; task < answer.num_tasks; ++task) {
      std::printf(" %8.4f", answer.logits[i * answer.num_tasks + task]);
    }
    std::printf("\n");
  }
}
