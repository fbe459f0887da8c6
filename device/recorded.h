// A scripted device for tests: it runs nothing, and its times and failures come from a JSON file.
//
//   {
//     "fingerprint": {"arch": "gfx942", "target": "hip", "wave_size": 64, ...},
//     "default_us": 100.0,
//     "hashed": [50.0, 200.0],
//     "rules": [{"match": "taps:block=256", "problem": "dtype=f16", "us": 12.5}, {"match": "vx=8", "action": "crash"}]
//   }
//
// fingerprint  any field of gt_fingerprint by its name, `target` as "hip", "cuda" or "opencl"; the others keep the values of
//              a small imaginary GPU.
// default_us   what a launch takes when no rule says; 100 when absent.
// hashed       [low, high]: instead, a time between the two that follows from the configuration's text alone.
// rules        the first rule that matches a kernel's source decides. `match` is part of the configuration's text and
//              `problem` part of the problem's; an absent one matches everything. Then either or both of
//   us | samples    the time of a launch in microseconds | the times of consecutive launches, over and over
//   action          crash: the launch aborts the process. hang: it never returns. exit: it ends the process with status 3.
//                   launch_error, device_lost: it fails with GT_LAUNCH, GT_DEVICE_LOST (and so does everything after it).
//                   compile_error: compiling fails. compile_hang: it never returns.
//                   wrong: gt_recorded_wrong() says so, for a checker that has no results to look at.
//
// Every key that is not listed is refused. Problem and configuration are read from the lines "// problem: ..." and
// "// configuration: ..." that begin a source; its code object is the source itself.
#ifndef GT_DEVICE_RECORDED_H
#define GT_DEVICE_RECORDED_H

#include "device/device.h"

extern const gt_backend gt_backend_recorded;

// Opens the device that a file describes. GT_IO when it cannot be read, GT_USAGE when it is not such a document. The back end's
// own open() has no file to read and always fails.
gt_status gt_recorded_open(const char *path, gt_device **device, gt_error *error);

// Whether the results of a kernel are to be taken as wrong.
bool gt_recorded_wrong(const gt_kernel *kernel);

#endif
