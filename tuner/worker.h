// The worker process: opens one device, and compiles, checks and times one configuration at a time for its
// parent. It may crash or hang.
#ifndef GT_TUNER_WORKER_H
#define GT_TUNER_WORKER_H

// Serves requests from file descriptor `in` until it closes or "quit" comes; answers on `out`. Returns the
// process's exit code.
int gt_worker_main(int in, int out);

#endif
