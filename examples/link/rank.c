/* Ranks two videos for a user of the KuaiRand example, by the C API. */
#include <hstu/hstu.h>
#include <stdio.h>
#include <stdlib.h>

static void Check(int error) {
  if (error == HSTU_OK) return;
  fprintf(stderr, "%s\n", hstuLastError());
  exit(2);
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s MODEL_FOLDER\n", argv[0]);
    return 2;
  }
  hstuModel* model = NULL;
  int64_t num_tasks = 0;
  Check(hstuLoadModel(argv[1], NULL, &model));
  Check(hstuNumTasks(model, &num_tasks));

  const char* names[] = {"user_id"};
  const int64_t user[] = {17};
  const int64_t videos[] = {5, 9, 12};  /* the oldest first */
  const int64_t actions[] = {1, 65, 0}; /* click; click and long view; nothing */
  const int64_t candidates[] = {40, 7};
  const hstuRequest request = {.structSize = sizeof(hstuRequest),
                               .contextualNames = names,
                               .contextualIds = user,
                               .numContextual = 1,
                               .items = videos,
                               .numItems = 3,
                               .actions = actions,
                               .numActions = 3,
                               .candidates = candidates,
                               .numCandidates = 2};
  float* logits = malloc(2 * num_tasks * sizeof(float));
  hstuAnswer answer = {
      .structSize = sizeof(hstuAnswer), .logits = logits, .logitsCapacity = 2 * num_tasks};
  Check(hstuRank(model, &request, 1, &answer));

  for (int i = 0; i < 2; ++i) {
    printf("video %lld:", (long long)candidates[i]);
    for (int task = 0; task < num_tasks; ++task) printf(" %8.4f", logits[i * num_tasks + task]);
    printf("\n");
  }
  free(logits);
  hstuDestroyModel(model);
  return 0;
}
