/* Merges softmax attention that two ranks computed over their parts of the keys. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "hstu/hstu.h"

int main(void) {
  /* Two ranks, two rows, three channels. Of row 1 the second rank saw nothing. */
  float lse[2][2] = {{0.0f, 1.0f}, {0.0f, -INFINITY}};
  float parts[2][2][3] = {{{1, 2, 3}, {4, 5, 6}}, {{3, 4, 5}, {7, 7, 7}}};
  float out[2][3];
  float merged[2];
  const hstuTensor lseTensor = {lse, HSTU_F32, 2, {2, 2}, {2, 1}};
  const hstuTensor partsTensor = {parts, HSTU_F32, 3, {2, 2, 3}, {6, 3, 1}};
  const hstuTensor outTensor = {out, HSTU_F32, 2, {2, 3}, {3, 1}};
  const hstuTensor mergedTensor = {merged, HSTU_F32, 1, {2}, {1}};

  uint64_t bytes = 0;
  hstuExecutor* executor = NULL;
  if (hstuAttentionUpdateGetWorkspaceSize(&lseTensor, &partsTensor, 1, &outTensor, &mergedTensor,
                                          &bytes, &executor) != HSTU_OK) {
    fprintf(stderr, "%s\n", hstuLastError());
    return 2;
  }
  void* workspace = malloc(bytes);
  const int status = hstuAttentionUpdate(workspace, bytes, executor);
  free(workspace);
  if (status != HSTU_OK) {
    fprintf(stderr, "%s\n", hstuLastError());
    return 2;
  }
  for (int row = 0; row < 2; ++row) {
    printf("%.4f: %.4f %.4f %.4f\n", merged[row], out[row][0], out[row][1], out[row][2]);
  }
  return 0;
}
