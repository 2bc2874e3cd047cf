"""hstu beside torch eager, AOTInductor, onnxruntime and openvino."""
