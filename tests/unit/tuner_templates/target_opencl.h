// The templates of the tuner's tests: float only, and as slow as they are short.
