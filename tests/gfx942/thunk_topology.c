// The machine that the stand-in reports: one CPU node and GFX942_DEVICES MI300X.
#include "thunk.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <hsakmt/hsakmt.h>

#define KIB ((uint64_t)1 << 10)
#define GIB ((uint64_t)1 << 30)

static int log_level, threads;
static uint64_t schedule;
static uint64_t device_memory;
static HSAuint32 dies, devices;

// The number in environment variable `name`, forced into its range; `otherwise` if it is unset or no number.
static uint64_t setting(const char *name, uint64_t otherwise, uint64_t least, uint64_t most) {
  const char *text = getenv(name);
  char *end = NULL;
  uint64_t value = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 0) : otherwise;
  if (end && *end) value = otherwise;
  return value < least ? least : value > most ? most : value;
}

// ROCr is not initialised yet when its thunk is loaded, so it sees this setting. It makes each allocation of
// a program one of the thunk's own, rather than a part of a 2 MiB block, so that accesses are checked page by
// page.
__attribute__((constructor)) static void configure(void) {
  setenv("HSA_DISABLE_FRAGMENT_ALLOCATOR", "1", 1);
  log_level = (int)setting("GFX942_LOG", 0, 0, 3);
  device_memory = setting("GFX942_MEMORY", 16 * GIB, 0, UINT64_MAX);
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  threads = (int)setting("GFX942_THREADS", processors > 0 ? (uint64_t)processors : 1, 1, 64);
  dies = (HSAuint32)setting("GFX942_XCC", 8, 1, 8);
  schedule = setting("GFX942_SCHEDULE", 0, 0, UINT64_MAX);
  devices = (HSAuint32)setting("GFX942_DEVICES", 1, 1, MOST_GPUS);
}

uint64_t thunk_schedule(void) {
  return schedule ? __atomic_fetch_add(&schedule, 1, __ATOMIC_RELAXED) : 0;
}

uint32_t thunk_nodes(void) {
  return FIRST_GPU_NODE + devices;
}

bool thunk_is_gpu(uint32_t node) {
  return node >= FIRST_GPU_NODE && node < thunk_nodes();
}

uint64_t thunk_device_memory(void) {
  return device_memory;
}

int thunk_threads(void) {
  return threads;
}

int thunk_dies(void) {
  return (int)dies;
}

void thunk_log(int level, const char *format, ...) {
  if (log_level < level) return;
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  fprintf(stderr, "gfx942: %s\n", line);
}

void thunk_die(const char *format, ...) {
  char line[1536];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  fprintf(stderr, "gfx942 emulation: %s\n", line);
  abort();
}

THUNK_API HSAKMT_STATUS hsaKmtOpenKFD(void) {
  return HSAKMT_STATUS_SUCCESS;
}

THUNK_API HSAKMT_STATUS hsaKmtCloseKFD(void) {
  return HSAKMT_STATUS_SUCCESS;
}

THUNK_API HSAKMT_STATUS hsaKmtGetVersion(HsaVersionInfo *version) {
  version->KernelInterfaceMajorVersion = 1;
  version->KernelInterfaceMinorVersion = 14;
  return HSAKMT_STATUS_SUCCESS;
}

THUNK_API HSAKMT_STATUS hsaKmtAcquireSystemProperties(HsaSystemProperties *properties) {
  *properties = (HsaSystemProperties){.NumNodes = thunk_nodes()};
  return HSAKMT_STATUS_SUCCESS;
}

THUNK_API HSAKMT_STATUS hsaKmtReleaseSystemProperties(void) {
  return HSAKMT_STATUS_SUCCESS;
}

static void set_names(HsaNodeProperties *node, const char *marketing, const char *internal) {
  for (size_t i = 0; marketing[i]; i++) node->MarketingName[i] = (HSAuint16)marketing[i];
  strcpy((char *)node->AMDName, internal);
}

static void describe_cpu(HsaNodeProperties *node) {
  node->NumCPUCores = 2;
  node->NumMemoryBanks = 1;
  node->NumIOLinks = devices;
  set_names(node, "CPU", "cpu");
}

// The `index`-th of them: they differ in nothing but where they are.
static void describe_gpu(HsaNodeProperties *node, HSAuint32 index) {
  node->NumFComputeCores = GPU_COMPUTE_UNITS * GPU_SIMDS_PER_UNIT;
  node->NumSIMDPerCU = GPU_SIMDS_PER_UNIT;
  node->NumShaderBanks = 32;
  node->NumArrays = 1;
  node->NumCUPerArray = 10;
  node->NumXcc = dies;
  node->MaxWavesPerSIMD = 8;
  node->MaxSlotsScratchCU = 32;
  node->WaveFrontSize = 64;
  node->LDSSizeInKB = 64;
  node->VGPRSizePerCU = 512 * KIB;
  node->SGPRSizePerCU = 16 * KIB;
  node->NumMemoryBanks = 3;
  node->NumCaches = 3;
  node->NumIOLinks = 1;
  node->NumCpQueues = 24;
  node->NumSdmaEngines = 0; // copies are kernels
  node->LocalMemSize = thunk_device_memory();
  node->MaxEngineClockMhzFCompute = 2100;
  node->MaxEngineClockMhzCCompute = 2000;
  node->Capability.ui32.QueueSizePowerOfTwo = 1;
  node->Capability.ui32.DoorbellType = 2;
  node->Capability.ui32.SRAM_EDCSupport = 1;
  node->Capability.ui32.Mem_EDCSupport = 1;
  node->Capability.ui32.ASICRevision = 1;
  node->EngineId.ui32.Major = 9;
  node->EngineId.ui32.Minor = 4;
  node->EngineId.ui32.Stepping = 2;
  node->EngineId.ui32.uCode = 166;
  node->FComputeIdLo = 0x80001000;
  node->VendorId = 0x1002;
  node->DeviceId = 0x74a1;
  node->LocationId = 0x0300 + (index << 8); // bus, device and function of PCI
  node->DrmRenderMinor = 128 + (HSAint32)index;
  node->UniqueID = 0x1234567890abcdef + index;
  node->KFDGpuID = 4242 + index;
  node->FamilyID = 141;
  set_names(node, "AMD Instinct MI300X (emulated)", "ip discovery");
}

THUNK_API HSAKMT_STATUS hsaKmtGetNodeProperties(HSAuint32 node, HsaNodeProperties *properties) {
  if (node >= thunk_nodes()) return HSAKMT_STATUS_INVALID_NODE_UNIT;
  memset(properties, 0, sizeof *properties);
  if (node == CPU_NODE) {
    describe_cpu(properties);
  } else {
    describe_gpu(properties, node - FIRST_GPU_NODE);
  }
  return HSAKMT_STATUS_SUCCESS;
}

// The apertures are the ones that the interpreter uses for flat addresses of LDS and scratch.
THUNK_API HSAKMT_STATUS hsaKmtGetNodeMemoryProperties(HSAuint32 node, HSAuint32 count,
                                                      HsaMemoryProperties *banks) {
  const HsaMemoryProperties cpu[] = {
      {.HeapType = HSA_HEAPTYPE_SYSTEM, .SizeInBytes = 16 * GIB, .Width = 64, .MemoryClockMax = 2400}};
  const HsaMemoryProperties gpu[] = {
      {.HeapType = HSA_HEAPTYPE_FRAME_BUFFER_PUBLIC,
       .SizeInBytes = thunk_device_memory(),
       .Width = 8192,
       .MemoryClockMax = 1300},
      {.HeapType = HSA_HEAPTYPE_GPU_LDS, .SizeInBytes = 64 * KIB, .VirtualBaseAddress = (uint64_t)1 << 48},
      {.HeapType = HSA_HEAPTYPE_GPU_SCRATCH,
       .SizeInBytes = 4 * GIB,
       .VirtualBaseAddress = (uint64_t)2 << 48}};
  if (node >= thunk_nodes()) return HSAKMT_STATUS_INVALID_NODE_UNIT;
  HSAuint32 known = node == CPU_NODE ? sizeof cpu / sizeof *cpu : sizeof gpu / sizeof *gpu;
  if (count > known) return HSAKMT_STATUS_INVALID_PARAMETER;
  memcpy(banks, node == CPU_NODE ? cpu : gpu, count * sizeof *banks);
  return HSAKMT_STATUS_SUCCESS;
}

THUNK_API HSAKMT_STATUS hsaKmtGetNodeCacheProperties(HSAuint32 node, HSAuint32 processor, HSAuint32 count,
                                                     HsaCacheProperties *caches) {
  static const struct { HSAuint32 level, kib; } gpu[] = {{1, 32}, {2, 4 * 1024}, {3, 256 * 1024}};
  memset(caches, 0, count * sizeof *caches);
  if (!thunk_is_gpu(node)) return HSAKMT_STATUS_SUCCESS;
  for (HSAuint32 i = 0; i < count && i < sizeof gpu / sizeof *gpu; i++) {
    caches[i].ProcessorIdLow = processor;
    caches[i].CacheLevel = gpu[i].level;
    caches[i].CacheSize = gpu[i].kib;
    caches[i].CacheLineSize = 128;
    caches[i].CacheType.ui32.Data = 1;
    caches[i].CacheType.ui32.HSACU = 1;
  }
  return HSAKMT_STATUS_SUCCESS;
}

THUNK_API HSAKMT_STATUS hsaKmtGetNodeIoLinkProperties(HSAuint32 node, HSAuint32 count,
                                                      HsaIoLinkProperties *links) {
  if (node >= thunk_nodes()) return HSAKMT_STATUS_INVALID_NODE_UNIT;
  memset(links, 0, count * sizeof *links); // GPUs are linked through the CPU alone
  for (HSAuint32 i = 0; i < count && i < (node == CPU_NODE ? devices : 1); i++) {
    links[i].IoLinkType = HSA_IOLINKTYPE_PCIEXPRESS;
    links[i].NodeFrom = node;
    links[i].NodeTo = node == CPU_NODE ? FIRST_GPU_NODE + i : CPU_NODE;
    links[i].Weight = 20;
  }
  return HSAKMT_STATUS_SUCCESS;
}

THUNK_API HSAKMT_STATUS hsaKmtGetTileConfig(HSAuint32 node, HsaGpuTileConfig *config) {
  (void)node;
  config->NumTileConfigs = 0;
  config->NumMacroTileConfigs = 0;
  config->GbAddrConfig = 0;
  config->NumBanks = 0;
  config->NumRanks = 0;
  return HSAKMT_STATUS_SUCCESS;
}

THUNK_API HSAKMT_STATUS hsaKmtGetXNACKMode(HSAint32 *enabled) {
  *enabled = 0;
  return HSAKMT_STATUS_SUCCESS;
}

THUNK_API HSAKMT_STATUS hsaKmtSetXNACKMode(HSAint32 enable) {
  return enable ? HSAKMT_STATUS_NOT_SUPPORTED : HSAKMT_STATUS_SUCCESS;
}

THUNK_API HSAKMT_STATUS hsaKmtRuntimeDisable(void) {
  return HSAKMT_STATUS_SUCCESS;
}

THUNK_API HSAKMT_STATUS hsaKmtGetRuntimeCapabilities(HSAuint32 *mask) {
  *mask = 0;
  return HSAKMT_STATUS_SUCCESS;
}

THUNK_API HSAKMT_STATUS hsaKmtSetTrapHandler(HSAuint32 node, void *code, HSAuint64 code_size, void *buffer,
                                             HSAuint64 buffer_size) {
  (void)node, (void)code, (void)code_size, (void)buffer, (void)buffer_size;
  return HSAKMT_STATUS_SUCCESS; // s_trap never comes this far
}

THUNK_API HSAKMT_STATUS hsaKmtGetAMDGPUDeviceHandle(HSAuint32 node, HsaAMDGPUDeviceHandle *handle) {
  static char handles[MOST_NODES];
  if (!thunk_is_gpu(node)) return HSAKMT_STATUS_INVALID_NODE_UNIT;
  *handle = (HsaAMDGPUDeviceHandle)&handles[node];
  return HSAKMT_STATUS_SUCCESS;
}
