// Messages between the tuning parent and its worker processes: a frame is a line of JSON, and as many bytes
// after it as the line's "payload" says (a code object, or arrays of doubles).
//
// A worker that compiles never runs what it compiled, and a worker that runs never compiles: VARIANT is what
// gt_variant_to_json writes, without the source, and its code object is (part of) the payload.
// Parent to worker (each answered by exactly one frame of "event":"done", with "progress" frames before it):
//   {"do":"open","device":"hip:0"}       (null: none)            → done: status, "device", "fingerprint":{…},
//   "executes":bool
//   {"do":"compile","backend":NAME,"arch":TEXT,"source":TEXT}    → done: status, "log", "compile_ms",
//                                                               payload = code object
//   {"do":"problem","problem":TEXT}, payload = nothing, or the   → done: status, "outer" that fits, "slots",
//   grid in storage form                                        "note"
//   {"do":"direct","variant":VARIANT}, payload = code object     → done: RESULT, "note"
//   {"do":"trial","variant":VARIANT,"check":bool,"timing":{…}}, payload = code object
//   (timing null: it is only checked)                           → done: RESULT
//   {"do":"retime","variants":[VARIANT,…],"code_bytes":[…],"timing":{…}}, payload = code objects
//                                                               → done: status, "results":[RESULT,…]
//   {"do":"verify","problem":TEXT,"variant":VARIANT}, payload = the tensors of gt_problem_tensors, the right
//   results among them, the results' terms (doubles, NCHW), code object  → done: RESULT
//   {"do":"quit"}                                               → no answer; the worker exits 0
// Worker to parent, while it works:
// {"event":"progress","phase":"prepare"|"compile"|"load"|"launch"|"check"|"time"}: the parent's timers start
// here. RESULT:
// {"status":NAME,"message":TEXT,"outcome":NAME,"samples_us":[…],"registers":…,"lds_bytes":…,
// "scratch_bytes":…,"checked":bool,"device_s":…,"noisy":bool,"readings":{"temperature_c":…,"clock_mhz":…,
// "memory_clock_mhz":…}}; device_s: seconds that the device had work, see gt_result.
// "exiting":true in an answer: the device is in doubt after an error, and the worker ends by itself after
// this frame.
#ifndef GT_TUNER_WIRE_H
#define GT_TUNER_WIRE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buffer.h"
#include "device/fingerprint.h"

// Appends a frame to *buffer. `message` is borrowed; its "payload" key is set here.
void gt_wire_encode(gt_buffer *buffer, json_t *message, const void *payload, size_t size);

// Takes one frame off the front of *buffer. 1: *message (owned by the caller) and *payload are filled; 0:
// more bytes are needed; -1: the bytes are no frame.
int gt_wire_decode(gt_buffer *buffer, json_t **message, gt_buffer *payload);

// A JSON string of a text that may hold bytes that are no UTF-8 (compiler logs, device names): those become
// '?'.
json_t *gt_wire_text(const char *text);

// The string under a key, or "" where there is none.
const char *gt_wire_string(const json_t *message, const char *key);

json_t *gt_wire_fingerprint(const gt_fingerprint *fingerprint);
bool gt_wire_read_fingerprint(const json_t *json, gt_fingerprint *fingerprint);

#endif
