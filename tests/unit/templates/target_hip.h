// target hip
