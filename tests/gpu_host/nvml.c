/* A stand-in for NVIDIA's management library. What it tells stands in the file that FAKE_NVML_FILE names, one
   device a line: UUID, used MiB, total MiB, and the ids of processes on it. The file is read at every call. A process with
   a minus in front holds the memory: once it is gone, the device is idle, as a real one would be. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, GPU_IS_LOST = 15, UNKNOWN = 999 };
enum { MOST = 16, MOST_PIDS = 8 };
typedef unsigned long long u64;
typedef struct { char uuid[80]; u64 used, total; int pids[MOST_PIDS]; int processes; } Device;
/* A UUID that starts with "MIG" stands for a device that is cut into instances, one with "LOST" for a lost one. */
typedef struct { u64 total, free, used; } Memory;
typedef struct { unsigned version; u64 total, reserved, free, used; } Memory2;
typedef struct { unsigned pid; u64 used; unsigned gpu_instance, compute_instance; } Process;

static int load(Device *devices) {
  char line[512];
  int count = 0;
  FILE *file = fopen(getenv("FAKE_NVML_FILE"), "r");
  if (!file) return -1;
  while (count < MOST && fgets(line, sizeof line, file)) {
    Device *d = &devices[count];
    int at = 0, more = 0, pid;
    d->processes = 0;
    if (sscanf(line, "%79s %llu %llu%n", d->uuid, &d->used, &d->total, &at) != 3) continue;
    while (d->processes < MOST_PIDS && sscanf(line + at, "%d%n", &pid, &more) == 1) {
      at += more;
      if (pid < 0 && kill(-pid, 0) != 0) d->used = 10;
      else d->pids[d->processes++] = abs(pid);
    }
    count++;
  }
  fclose(file);
  return count;
}

static int find(void *handle, Device *found) {
  Device devices[MOST];
  long index = (long)handle - 1;
  int count = load(devices);
  if (count < 0) return UNKNOWN;
  if (index < 0 || index >= count) return INVALID_ARGUMENT;
  *found = devices[index];
  return SUCCESS;
}

int nvmlInitWithFlags(unsigned flags) { Device devices[MOST]; return load(devices) < 0 ? UNKNOWN : SUCCESS; }
int nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(int code) { return code == SUCCESS ? "Success" : "Unknown Error"; }
int nvmlSystemGetDriverVersion(char *text, unsigned size) { snprintf(text, size, "550.00"); return SUCCESS; }

int nvmlDeviceGetCount_v2(unsigned *count) {
  Device devices[MOST];
  int found = load(devices);
  if (found < 0) return UNKNOWN;
  *count = (unsigned)found;
  return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) { *handle = (void *)(long)(index + 1); return SUCCESS; }

int nvmlDeviceGetName(void *handle, char *text, unsigned size) { snprintf(text, size, "Fake 40GB"); return SUCCESS; }

int nvmlDeviceGetUUID(void *handle, char *text, unsigned size) {
  Device d;
  int code = find(handle, &d);
  if (code == SUCCESS) snprintf(text, size, "%s", d.uuid);
  return code;
}

int nvmlDeviceGetMigMode(void *handle, unsigned *current, unsigned *pending) {
  Device d;
  int code = find(handle, &d);
  if (code != SUCCESS) return code;
  *current = *pending = strncmp(d.uuid, "MIG", 3) == 0;
  return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(void *handle, Memory *memory) {
  Device d;
  int code = find(handle, &d);
  if (code != SUCCESS) return code;
  if (strncmp(d.uuid, "LOST", 4) == 0) return GPU_IS_LOST;
  memory->total = d.total << 20;
  memory->used = d.used << 20;
  memory->free = memory->total - memory->used;
  return SUCCESS;
}

int nvmlDeviceGetMemoryInfo_v2(void *handle, Memory2 *memory) {
  Memory plain;
  int code = nvmlDeviceGetMemoryInfo(handle, &plain);
  if (code != SUCCESS) return code;
  memory->total = plain.total;
  memory->used = plain.used;
  memory->free = plain.free;
  memory->reserved = 0;
  return SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, Process *processes) {
  Device d;
  int code = find(handle, &d);
  if (code != SUCCESS) return code;
  unsigned room = *count;
  *count = (unsigned)d.processes;
  if (d.processes == 0) return SUCCESS;
  if (!processes || room < *count) return INSUFFICIENT_SIZE;
  for (int i = 0; i < d.processes; i++) {
    memset(&processes[i], 0, sizeof processes[i]);
    processes[i].pid = (unsigned)d.pids[i];
  }
  return SUCCESS;
}
