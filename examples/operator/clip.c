/* An operator of your own: clip, each value into [-1, 1]. Build it as a shared object, put that on
 * the operator path, and `hstu ops` lists it. */
#include <hstu/operator.h>

static void clip(const hstuRowsArgs* args) {
  for (int64_t row = 0; row < args->rows; ++row) {
    const float* x = args->inputs[0] + row * args->strides[0];
    float* out = args->out + row * args->outStride;
    for (int64_t i = 0; i < args->cols; ++i) {
      out[i] = x[i] < -1.0f ? -1.0f : x[i] > 1.0f ? 1.0f : x[i];
    }
  }
}

int hstuRegisterOperators(uint32_t abi, hstuOperatorSink* sink, hstuAddRowOperator* add) {
  static const hstuRowOperator op = {sizeof(hstuRowOperator), "clip", "values into [-1, 1]", 1,
                                     clip};
  return abi == HSTU_OPERATOR_ABI ? add(sink, &op) : 1;
}
