/* hstu.cpp: production inference of HSTU generative recommenders. The C API.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Load a model, rank candidates, destroy the model:
 *
 *   hstuModel* model = NULL;
 *   if (hstuLoadModel("examples/kuairand/model", NULL, &model) != HSTU_OK) {
 *     fprintf(stderr, "%s\n", hstuLastError());
 *   }
 *   ...
 *   hstuDestroyModel(model);
 *
 * Every function that can fail returns HSTU_OK (0) or another hstuError, whose text hstuLastError()
 * gives. Nothing throws and nothing ends the process. What the caller passes stays the caller's and
 * is not used after the call. Ids are 64-bit integers: raw ones where the model has a vocabulary,
 * else rows of its tables.
 *
 * Structs grow at their end. Set structSize to sizeof the struct and the rest to zero, then what
 * you need; a library that is newer than the program reads the missing fields as zero. */
#ifndef HSTU_HSTU_H_
#define HSTU_HSTU_H_

#include <stdint.h>

#if defined(__GNUC__)
#define HSTU_C_API __attribute__((visibility("default")))
#else
#define HSTU_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  HSTU_OK = 0,
  /* Of one request; the others are answered. */
  HSTU_BAD_REQUEST = 1,
  HSTU_ID_OUT_OF_RANGE = 2,
  HSTU_HISTORY_TOO_LONG = 3,
  HSTU_HISTORY_NOT_CACHED = 4,
  HSTU_TOO_MANY_CANDIDATES = 5,
  /* Of a call. */
  HSTU_BAD_MODEL = 6,    /* a model folder that can't be read, or that lies */
  HSTU_BAD_DATA = 7,     /* a data file that can't be read, or that lies */
  HSTU_BAD_ARGUMENT = 8, /* NULL, a size or an option that can't be meant */
  HSTU_IO = 9,           /* the operating system refused to read or write */
  HSTU_OUT_OF_MEMORY = 10,
  HSTU_INTERNAL = 11 /* an error of the library; its text helps who reports it */
} hstuError;

/* A loaded model and what runs it. Many threads may share one. */
typedef struct hstuModel hstuModel;

/* Zero stands for the default of every field but structSize. */
typedef struct {
  uint64_t structSize;    /* sizeof(hstuOptions) */
  const char* isa;        /* "scalar", "avx2", "avx512"; NULL: the best that the CPU has */
  const char* fusedOps;   /* "all" (NULL), "none", or operators' names joined by commas */
  int64_t maxStepTokens;  /* most tokens computed at once, which bounds memory; 0: 8192 */
  int64_t chunkTokens;    /* split histories at this many tokens; 0: at maxStepTokens */
  int32_t threads;        /* 0: one for each processor that the process may use */
  int32_t pageSize;       /* tokens, the unit of truncation: 32 (0), 64 or 128 */
  int32_t truncate;       /* 1: drop the oldest tokens of a history that is too long */
  int32_t disableContext; /* 1: leave contextual tokens out */
  const char* dtype;      /* of activations: "f32" (NULL), "bf16" */
  /* Users' histories are computed once. */
  int64_t kvBytes;          /* most bytes of the KV cache; 0: of kvPages pages, or the default */
  int64_t kvPages;          /* 0: as kvBytes says */
  const char* kvDtype;      /* "f32" (NULL: dtype's), "bf16", "f16", "int8" */
  const char* artifacts;    /* a folder of `hstu compile`; NULL: the built-in path */
  const char* operatorPath; /* folders of operator libraries, joined by ':' */
  int32_t kvCache;          /* 1: keep users' K and V */
  int32_t reserved;         /* 0 */
  const char* bf16Products; /* of activations in bf16: "auto" (NULL), "tiles", "pairs", "off" */
} hstuOptions;

/* One user's history and the candidates to score. A pointer may be NULL where its count is 0.
 * No count may exceed 2^24. */
typedef struct {
  uint64_t structSize;                /* sizeof(hstuRequest) */
  const char* userId;                 /* names the user's state; NULL: the user has none */
  const char* const* contextualNames; /* [numContextual] features of the model */
  const int64_t* contextualIds;       /* [numContextual] */
  int64_t numContextual;
  const int64_t* items; /* [numItems], the oldest first */
  int64_t numItems;
  const int64_t* actions; /* [numActions], one an item; none without action_feature */
  int64_t numActions;
  int64_t historyStart;      /* in items; read only with hasHistoryStart */
  int32_t hasHistoryStart;   /* 0: the history is whole */
  int32_t reserved;          /* 0 */
  const int64_t* candidates; /* [numCandidates]; none: the history alone is computed */
  int64_t numCandidates;
} hstuRequest;

/* The caller sets the first three, hstuRank the others. */
typedef struct {
  uint64_t structSize;    /* sizeof(hstuAnswer) */
  float* logits;          /* [numCandidates, numTasks], row by row */
  int64_t logitsCapacity; /* floats that logits has room for */
  int64_t numTasks;
  int64_t historyItems;  /* where the next historyStart goes on */
  int64_t cachedTokens;  /* history tokens that were not computed for this answer */
  int64_t evictedTokens; /* history tokens that the answer could not see */
  int32_t error;         /* an hstuError; unless HSTU_OK, logits are untouched */
  int32_t reserved;
  const char*
      errorMessage; /* "" without an error; valid until this thread's next call of hstuRank */
} hstuAnswer;

/* The text of the last error that a function returned to this thread; "" before the first. Valid
 * until the thread's next call of this library. */
HSTU_C_API const char* hstuLastError(void);

/* Loads a model folder (config.json, model.safetensors). Embedding tables stay mapped: the files
 * must not change while the model lives. `options` may be NULL. Sets *model, which is the caller's
 * to destroy, or NULL on error. */
HSTU_C_API int hstuLoadModel(const char* folder, const hstuOptions* options, hstuModel** model);

/* Logits of one candidate, so that a caller can size hstuAnswer.logits. */
HSTU_C_API int hstuNumTasks(const hstuModel* model, int64_t* numTasks);

/* Answers requests[i] in answers[i]; both hold `count`, and all structs of one array have the same
 * structSize. A request that can't be answered gets an error in its answer and disturbs no other;
 * the call then returns the error of the first such request. An error of the call itself
 * (HSTU_BAD_ARGUMENT: NULL, counts, structSize, logitsCapacity; HSTU_OUT_OF_MEMORY; HSTU_INTERNAL)
 * leaves all answers untouched.
 * In f32 an answer is the same bits whatever else the call holds. */
HSTU_C_API int hstuRank(hstuModel* model, const hstuRequest* requests, int64_t count,
                        hstuAnswer* answers);

/* No other call may be using the model. NULL is fine. */
HSTU_C_API void hstuDestroyModel(hstuModel* model);

typedef enum { HSTU_F32 = 0, HSTU_F16 = 1, HSTU_BF16 = 2 } hstuDType;

/* A tensor in the caller's memory, aligned as its elements are. */
typedef struct {
  void* data;
  int32_t dtype; /* an hstuDType */
  int32_t rank;  /* dimensions, at most 8 */
  int64_t shape[8];
  int64_t stride[8]; /* in elements */
} hstuTensor;

/* An operator with its arguments, ready to run once. */
typedef struct hstuExecutor hstuExecutor;

/* AttentionUpdate merges the partial softmax attention of sp sequence-parallel ranks:
 *   lse [sp, r] f32, localOut [sp, r, d] in f32, f16 or bf16, out [r, d] of the same type;
 *   out = sum over i of localOut[i] * exp(lse[i] - m), m = log(sum over i of exp(lse[i])).
 * Sums are f32. A rank that saw nothing of a row has lse -infinity there, and its localOut may hold
 * anything; where all have, out is 0. With updateType 1 lseOut [r] f32 gets m, which is -infinity
 * where nobody saw anything; with 0 it may be NULL. All tensors are contiguous. `out` and `lseOut`
 * must not overlap the others.
 *
 * Two phases: this one checks (HSTU_BAD_ARGUMENT says which tensor and why) and says how many bytes
 * of workspace the second needs; the tensors' memory must live until that has run. */
HSTU_C_API int hstuAttentionUpdateGetWorkspaceSize(const hstuTensor* lse,
                                                   const hstuTensor* localOut, int64_t updateType,
                                                   const hstuTensor* out, const hstuTensor* lseOut,
                                                   uint64_t* workspaceSize,
                                                   hstuExecutor** executor);

/* Runs the operator and frees the executor, also when it fails. `workspace` has any alignment. */
HSTU_C_API int hstuAttentionUpdate(void* workspace, uint64_t workspaceSize, hstuExecutor* executor);

/* Frees an executor that was never run. NULL is fine. */
HSTU_C_API void hstuDestroyExecutor(hstuExecutor* executor);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* HSTU_HSTU_H_ */
