// Graphs of the CUDA back end: launches that are captured once and launched again as one.
#ifdef GT_HAVE_CUDA

#include "device/cuda_device.h"

#include <stdlib.h>

#include "base/buffer.h"

struct gt_graph {
  CUgraphExec executable;
};

gt_status gt_cuda_capture(gt_device *device, gt_error *error) {
  const gt_cuda_functions *cuda = device->cuda;
  if (!cuda->cuStreamBeginCapture || !cuda->cuStreamEndCapture || !cuda->graph_instantiate ||
      !cuda->cuGraphLaunch || !cuda->cuGraphExecDestroy || !cuda->cuGraphDestroy)
    return gt_fail(error, GT_UNSUPPORTED, "this CUDA driver has no graphs");
  gt_status status = gt_cuda_enter(device, error);
  if (status != GT_OK) return status;
  // What other threads of the program around us call meanwhile is no concern of this capture.
  status =
      gt_cuda_check(cuda, cuda->cuStreamBeginCapture(device->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                    "cuStreamBeginCapture", error);
  gt_cuda_leave(device);
  return status;
}

gt_status gt_cuda_captured(gt_device *device, gt_graph **captured, gt_error *error) {
  const gt_cuda_functions *cuda = device->cuda;
  CUgraph graph = NULL;
  CUgraphExec executable = NULL;
  *captured = NULL;
  gt_status status = gt_cuda_enter(device, error);
  if (status != GT_OK) return status;
  status = gt_cuda_check(cuda, cuda->cuStreamEndCapture(device->stream, &graph), "cuStreamEndCapture", error);
  if (status == GT_OK) {
    status = gt_cuda_check(cuda, cuda->graph_instantiate(&executable, graph, 0),
                           "cuGraphInstantiateWithFlags", error);
    if (status != GT_OK) executable = NULL;
  }
  // Else the first launch would do it, which may be timed.
  if (status == GT_OK && cuda->cuGraphUpload)
    status = gt_cuda_check(cuda, cuda->cuGraphUpload(executable, device->stream), "cuGraphUpload", error);
  if (graph) (void)cuda->cuGraphDestroy(graph); // the executable one needs it no longer
  if (status != GT_OK && executable) (void)cuda->cuGraphExecDestroy(executable);
  gt_cuda_leave(device);
  if (status != GT_OK) return status;
  *captured = gt_alloc(sizeof **captured);
  (*captured)->executable = executable;
  return GT_OK;
}

gt_status gt_cuda_replay(gt_device *device, gt_graph *graph, gt_error *error) {
  gt_status status = gt_cuda_enter(device, error);
  if (status != GT_OK) return status;
  CUresult code = device->cuda->cuGraphLaunch(graph->executable, device->stream);
  gt_cuda_leave(device);
  return gt_cuda_check_as(device->cuda, code, GT_LAUNCH, "cuGraphLaunch", error);
}

void gt_cuda_drop(gt_device *device, gt_graph *graph) {
  if (!graph) return;
  if (gt_cuda_enter(device, NULL) == GT_OK) {
    (void)device->cuda->cuGraphExecDestroy(graph->executable);
    gt_cuda_leave(device);
  }
  free(graph);
}

#else
typedef int gt_cuda_graph_is_not_built; // ISO C wants a declaration in every file
#endif
