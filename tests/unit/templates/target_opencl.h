// target opencl
