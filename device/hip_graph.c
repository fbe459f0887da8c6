// Graphs of the HIP back end: launches that are captured once and launched again as one.
#ifdef GT_HAVE_HIP

#include "device/hip_device.h"

#include <stdlib.h>

#include "base/buffer.h"

struct gt_graph {
  hipGraphExec_t executable;
};

gt_status gt_hip_capture(gt_device *device, gt_error *error) {
  const gt_hip_functions *hip = device->hip;
  int previous;
  if (!hip->hipStreamBeginCapture || !hip->hipStreamEndCapture || !hip->hipGraphInstantiateWithFlags ||
      !hip->hipGraphLaunch || !hip->hipGraphExecDestroy || !hip->hipGraphDestroy)
    return gt_fail(error, GT_UNSUPPORTED, "this HIP runtime has no graphs");
  gt_status status = gt_hip_enter(device, &previous, error);
  if (status != GT_OK) return status;
  // What other threads of the program around us call meanwhile is no concern of this capture.
  status = gt_hip_check(hip, hip->hipStreamBeginCapture(device->stream, hipStreamCaptureModeThreadLocal),
                        "hipStreamBeginCapture", error);
  gt_hip_leave(device, previous);
  return status;
}

gt_status gt_hip_captured(gt_device *device, gt_graph **captured, gt_error *error) {
  const gt_hip_functions *hip = device->hip;
  hipGraph_t graph = NULL;
  hipGraphExec_t executable = NULL;
  int previous;
  *captured = NULL;
  gt_status status = gt_hip_enter(device, &previous, error);
  if (status != GT_OK) return status;
  status = gt_hip_check(hip, hip->hipStreamEndCapture(device->stream, &graph), "hipStreamEndCapture", error);
  if (status == GT_OK)
    status = gt_hip_check(hip, hip->hipGraphInstantiateWithFlags(&executable, graph, 0),
                          "hipGraphInstantiateWithFlags", error);
  if (graph) (void)hip->hipGraphDestroy(graph); // the executable one needs it no longer
  gt_hip_leave(device, previous);
  if (status != GT_OK) return status;
  *captured = gt_alloc(sizeof **captured);
  (*captured)->executable = executable;
  return GT_OK;
}

gt_status gt_hip_replay(gt_device *device, gt_graph *graph, gt_error *error) {
  int previous;
  gt_status status = gt_hip_enter(device, &previous, error);
  if (status != GT_OK) return status;
  hipError_t code = device->hip->hipGraphLaunch(graph->executable, device->stream);
  gt_hip_leave(device, previous);
  return gt_hip_check_as(device->hip, code, GT_LAUNCH, "hipGraphLaunch", error);
}

void gt_hip_drop(gt_device *device, gt_graph *graph) {
  int previous;
  if (!graph) return;
  if (gt_hip_enter(device, &previous, NULL) == GT_OK) {
    (void)device->hip->hipGraphExecDestroy(graph->executable);
    gt_hip_leave(device, previous);
  }
  free(graph);
}

#else
typedef int gt_hip_graph_is_not_built; // ISO C wants a declaration in every file
#endif
