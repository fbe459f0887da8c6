// target cuda
