/* hstu.cpp: operators of your own, from a shared object. A C ABI of its own version.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A library exports hstuRegisterOperators and lies in a folder of the operator path
 * (--operator-path, or the environment's HSTU_OPERATOR_PATH: folders joined by ':'). Every *.so in
 * these folders is loaded when the operators are: by `hstu ops`, and when an engine is. Two
 * operators of one name are an error that names both files; neither wins. */
#ifndef HSTU_OPERATOR_H_
#define HSTU_OPERATOR_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when a struct here changes in a way that an old library can't know. */
#define HSTU_OPERATOR_ABI 1

/* Rows of f32 matrices, row-major, strides in elements. out may be one of the inputs. */
typedef struct {
  const float* const* inputs; /* [numInputs], each [rows, cols] */
  const int64_t* strides;     /* [numInputs] */
  float* out;                 /* [rows, cols] */
  int64_t outStride;
  int64_t rows;
  int64_t cols;
} hstuRowsArgs;

/* A row-wise operator: a row of out is made of the same row of the inputs, and of nothing else, so
 * that an answer doesn't depend on who else is in the batch. Called by many threads at once, on
 * different rows. */
typedef struct {
  uint64_t structSize; /* sizeof(hstuRowOperator) */
  const char* name;    /* letters, digits and '_' */
  const char* summary; /* one line, for `hstu ops` */
  int64_t numInputs;   /* at least 1 */
  void (*run)(const hstuRowsArgs* args);
} hstuRowOperator;

typedef struct hstuOperatorSink hstuOperatorSink;

/* What a library exports: calls add(sink, &operator) for each operator and returns 0, or what add
 * returned. The strings and functions must live as long as the library. */
typedef int hstuAddRowOperator(hstuOperatorSink* sink, const hstuRowOperator* op);
typedef int hstuRegisterOperatorsFn(uint32_t abi, hstuOperatorSink* sink, hstuAddRowOperator* add);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* HSTU_OPERATOR_H_ */
