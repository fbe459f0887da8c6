// A scripted device for tests: it runs nothing, and its times and failures come from a JSON file.
//
//   {
//     "fingerprint": {"arch": "gfx942", "target": "hip", "wave_size": 64},
//     "default_us": 100.0,
//     "hashed": [50.0, 200.0],
//     "compile_ms": 150, "check_ms": 40,
//     "readings": {"temperature_c": 61, "clock_mhz": 2100, "memory_clock_mhz": 1300},
//     "journal": "launched.txt",
//     "rules": [
//       {"match": "taps:block=256", "problem": "dtype=f16", "us": 12.5},
//       {"match": "vx=8", "action": "crash"},
//       {"match": "vx=4", "compile_ms": 500}
//     ]
//   }
//
// Every key may be left out, and a key that is not listed here is refused.
//
// fingerprint  Any field of gt_fingerprint by its name, `target` as "hip", "cuda" or "opencl". The others
//              keep the values of a small imaginary GPU.
// default_us   What a launch takes, in microseconds, when no rule says; 100 when absent.
// hashed       [low, high]: instead, a time between the two that follows from the configuration's text.
// compile_ms   How long compiling really takes, in milliseconds: the process sleeps. 0 when absent.
// check_ms     The same for the first launch of each loaded kernel, which is that of the check.
// readings     What its sensors say; 0, unknown, for what is absent.
// journal      A file that each loaded kernel's first launch, which is that of the check, adds a line to: the
//              text of its configuration.
// rules        The first rule that matches a kernel's source decides. `match` is part of the text of the
//              configuration and `problem` part of that of the problem; an absent one matches everything.
//              A rule has at least one of `us`, `samples`, `action` and `compile_ms`, and not both of the
//              first two.
//
//   us         The time of a launch. A variant of several kernels takes it for each of them.
//   samples    The times of a kernel's consecutive launches, over and over.
//   compile_ms As above, for these sources.
//   action     run            nothing special
//              crash          the launch aborts the process
//              hang           the launch never returns
//              exit           the launch ends the process with status 3
//              kill           the launch ends the process with SIGKILL, as somebody outside would
//              launch_error   the launch fails with GT_LAUNCH
//              device_lost    the launch fails with GT_DEVICE_LOST, and so does all that follows
//              compile_error  compiling fails with GT_COMPILE
//              compile_hang   compiling never returns
//              compile_crash  compiling aborts the process
//              unload_crash   unloading the code object aborts the process
//              wrong          gt_recorded_wrong() says so, for a checker that has no results to look at
//
// A source says what it is in lines "// problem: ..." and "// configuration: ..." among its first ones. Its
// code object is the source itself.
#ifndef GT_DEVICE_RECORDED_H
#define GT_DEVICE_RECORDED_H

#include "device/device.h"

extern const gt_backend gt_backend_recorded;

// Opens the device that a file describes. GT_IO when it cannot be read, GT_USAGE when it is not such a
// document. The back end's own open() has no file to read and always fails.
gt_status gt_recorded_open(const char *path, gt_device **device, gt_error *error);

// Whether the results of a kernel are to be taken as wrong.
bool gt_recorded_wrong(const gt_kernel *kernel);

#endif
