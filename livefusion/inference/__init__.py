"""Networks: the registry of models and ONNX Runtime."""
