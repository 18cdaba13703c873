/* A libcuda over the host's memory, for tests: it implements what the driver module calls. Work is
   done when it is enqueued, or when the graph that captured it is launched. A kernel is given to the
   callback that the test sets: its name, grid, block and its arguments as words, counted and sized
   by the .param lines of its PTX (-1 of a cubin, whose arguments are not looked at). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
typedef uint64_t CUdeviceptr;
enum { OK = 0, INVALID = 1, NOMEM = 2, NOTFOUND = 500, CAPTURE = 901 };

typedef void (*Run)(const char *name, unsigned grid, unsigned block, int count, const uint64_t *words);
static Run run;
void fake_run(Run given) { run = given; }

/* One failure to come: of a function, after some calls of it. */
static char failing[64];
static int code, after;
static CUresult sticky;
void fake_fail(const char *name, int result, int calls) { strncpy(failing, name, 63); code = result; after = calls; }
void fake_fault(int result) { sticky = result; }
static CUresult told(const char *name) {
  if (sticky) return sticky;
  if (strcmp(name, failing) == 0 && after-- <= 0) { failing[0] = 0; return code; }
  return OK;
}
#define BEGIN do { CUresult r_ = told(__func__); if (r_) return r_; } while (0)

static long calls[8];
enum { LAUNCHES, GRAPHS, COPIES, CAPTURED, LEFT };
long fake_count(int what) { return calls[what]; }

/* Memory: blocks by address, so that a copy that leaves them is refused. */
typedef struct { char *at; size_t size; int host; } Block;
static Block blocks[4096];
static int count;
static size_t limit = (size_t)1 << 32, used;
void fake_limit(size_t bytes) { limit = bytes; }
int fake_blocks(uint64_t *at, uint64_t *size) {
  int n = 0;
  for (int i = 0; i < count; i++) if (blocks[i].at && !blocks[i].host) { at[n] = (uint64_t)blocks[i].at; size[n++] = blocks[i].size; }
  return n;
}
static CUresult made(size_t size, int host, void **out) {
  size_t room = (size + 255) / 256 * 256;
  if (!host && used + room > limit) return NOMEM;
  if (count == 4096) return NOMEM;
  void *p = aligned_alloc(256, room);
  memset(p, 0xA5, room);
  blocks[count++] = (Block){p, room, host};
  calls[LEFT]++;
  if (!host) used += room;
  *out = p;
  return OK;
}
static CUresult freed(void *p) {
  for (int i = 0; i < count; i++) if (blocks[i].at == p) {
    if (!blocks[i].host) used -= blocks[i].size;
    free(p); blocks[i].at = 0; calls[LEFT]--; return OK;
  }
  return INVALID;
}
static int inside(CUdeviceptr p, size_t n) {
  for (int i = 0; i < count; i++)
    if (blocks[i].at && !blocks[i].host && p >= (uint64_t)blocks[i].at && p + n <= (uint64_t)blocks[i].at + blocks[i].size) return 1;
  return 0;
}
CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n) { BEGIN; return made(n, 0, (void **)p); }
CUresult cuMemFree_v2(CUdeviceptr p) { return freed((void *)p); }
CUresult cuMemHostAlloc(void **p, size_t n, unsigned f) { BEGIN; return made(n, 1, p); }
CUresult cuMemFreeHost(void *p) { return freed(p); }
CUresult cuMemGetInfo_v2(size_t *left, size_t *all) { BEGIN; *left = limit - used; *all = limit; return OK; }

/* Nodes: of a graph, or done at once. */
typedef struct { char name[128]; int count; int size[512]; } Kernel;
typedef struct { int kind; void *to; const void *from; size_t n; int byte; Kernel *kernel; unsigned grid, block; uint64_t *words; } Node;
typedef struct { Node *nodes; int count, room; } Graph;
typedef struct { Graph *capture; } Stream;
enum { COPY, SET, KERNEL };
static void done(Node *w) {
  if (w->kind == COPY) { calls[COPIES]++; memcpy(w->to, w->from, w->n); }
  else if (w->kind == SET) memset(w->to, w->byte, w->n);
  else { calls[LAUNCHES]++; if (run) run(w->kernel->name, w->grid, w->block, w->kernel->count, w->words); }
}
static CUresult put(Stream *s, Node w) {
  Graph *g = s ? s->capture : 0;
  if (!g) { done(&w); free(w.words); return OK; }
  if (g->count == g->room) g->nodes = realloc(g->nodes, (g->room = g->room * 2 + 16) * sizeof(Node));
  g->nodes[g->count++] = w;
  calls[CAPTURED]++;
  return OK;
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t n, Stream *s) { BEGIN; return inside(to, n) ? put(s, (Node){COPY, (void *)to, from, n}) : INVALID; }
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, Stream *s) { BEGIN; return inside(from, n) ? put(s, (Node){COPY, to, (void *)from, n}) : INVALID; }
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, Stream *s) { BEGIN; return inside(from, n) && inside(to, n) ? put(s, (Node){COPY, (void *)to, (void *)from, n}) : INVALID; }
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char c, size_t n, Stream *s) { BEGIN; return inside(to, n) ? put(s, (Node){SET, (void *)to, 0, n, c}) : INVALID; }
CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char c, size_t n) { BEGIN; return inside(to, n) ? (memset((void *)to, c, n), OK) : INVALID; }

/* The device. */
static int version = 13000, devices = 1;
void fake_machine(int v, int n) { version = v; devices = n; }
CUresult cuInit(unsigned f) { BEGIN; return OK; }
CUresult cuDriverGetVersion(int *v) { *v = version; return OK; }
CUresult cuDeviceGetCount(int *n) { BEGIN; *n = devices; return OK; }
CUresult cuDeviceGet(int *d, int i) { BEGIN; *d = i; return OK; }
CUresult cuDeviceGetName(char *name, int n, int d) { snprintf(name, n, "FAKE H200"); return OK; }
CUresult cuDeviceTotalMem_v2(size_t *n, int d) { *n = limit; return OK; }
CUresult cuDeviceGetAttribute(int *v, int what, int d) { *v = what == 75 ? 9 : what == 76 ? 0 : what == 16 ? 132 : 0; return OK; }
CUresult cuDevicePrimaryCtxRetain(void **c, int d) { BEGIN; *c = &devices; return OK; }
CUresult cuDevicePrimaryCtxRelease_v2(int d) { return OK; }
CUresult cuCtxSetCurrent(void *c) { BEGIN; return OK; }
CUresult cuGetErrorName(int e, const char **s) { *s = "FAKE"; return OK; }
CUresult cuGetErrorString(int e, const char **s) { *s = "fake"; return OK; }

/* Streams and events: everything is done already. */
CUresult cuStreamCreate(Stream **s, unsigned f) { BEGIN; calls[LEFT]++; *s = calloc(1, sizeof(Stream)); return OK; }
CUresult cuStreamDestroy_v2(Stream *s) { calls[LEFT]--; free(s); return OK; }
CUresult cuStreamSynchronize(Stream *s) { BEGIN; return s->capture ? CAPTURE : OK; }
CUresult cuStreamWaitEvent(Stream *s, void *e, unsigned f) { BEGIN; return OK; }
CUresult cuEventCreate(void **e, unsigned f) { BEGIN; calls[LEFT]++; *e = malloc(1); return OK; }
CUresult cuEventDestroy_v2(void *e) { calls[LEFT]--; free(e); return OK; }
CUresult cuEventRecord(void *e, Stream *s) { BEGIN; return OK; }
CUresult cuEventQuery(void *e) { BEGIN; return OK; }
CUresult cuEventSynchronize(void *e) { BEGIN; return OK; }

/* Code. */
CUresult cuLibraryLoadData(char **l, const char *text, void *o, void *ov, unsigned n, void *p, void *pv, unsigned m) {
  BEGIN;
  calls[LEFT]++;
  *l = memcmp(text, "\x7f" "ELF", 4) ? strdup(text) : strdup("ELF");
  return OK;
}
CUresult cuLibraryUnload(char *l) { calls[LEFT]--; free(l); return OK; }
CUresult cuLibraryGetKernel(Kernel **k, char *text, const char *name) {
  BEGIN;
  char entry[160];
  snprintf(entry, sizeof entry, ".entry %s(", name);
  char *p = strstr(text, entry);
  if (!p && strcmp(text, "ELF")) return NOTFOUND;
  *k = calloc(1, sizeof(Kernel));
  snprintf((*k)->name, 128, "%s", name);
  (*k)->count = p ? 0 : -1;
  char *end = p ? strchr(p + strlen(entry), ')') : 0;
  while (p && (p = strstr(p, ".param .")) && p < end) {
    p += 8;
    (*k)->size[(*k)->count++] = atoi(p + 1) / 8;
  }
  return OK;
}
CUresult cuKernelGetFunction(void **f, Kernel *k) { BEGIN; *f = k; return OK; }
CUresult cuLaunchKernel(Kernel *k, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, Stream *s, void **args, void **extra) {
  BEGIN;
  if (!gx || gy != 1 || gz != 1 || !bx || bx > 1024 || by != 1 || bz != 1) return INVALID;
  uint64_t *words = calloc(k->count > 0 ? k->count : 1, 8);
  for (int i = 0; i < k->count; i++) memcpy(words + i, args[i], k->size[i]);
  return put(s, (Node){KERNEL, 0, 0, 0, 0, k, gx, bx, words});
}

/* A library's work: a node whose callback is given a name and nothing else. */
CUresult fake_work(Stream *s, const char *name) {
  Kernel *k = calloc(1, sizeof(Kernel));
  snprintf(k->name, 128, "%s", name);
  return put(s, (Node){KERNEL, 0, 0, 0, 0, k, 1, 1, calloc(1, 8)});
}

/* Graphs. */
CUresult cuStreamBeginCapture_v2(Stream *s, int mode) { BEGIN; if (s->capture) return CAPTURE; s->capture = calloc(1, sizeof(Graph)); return OK; }
CUresult cuStreamEndCapture(Stream *s, Graph **g) { if (!s->capture) return CAPTURE; *g = s->capture; s->capture = 0; BEGIN; return OK; }
CUresult cuGraphInstantiateWithFlags(Graph **e, Graph *g, unsigned long long f) { BEGIN; calls[LEFT]++; *e = malloc(sizeof(Graph)); **e = *g; return OK; }
CUresult cuGraphDestroy(Graph *g) { free(g); return OK; }
CUresult cuGraphExecDestroy(Graph *e) { calls[LEFT]--; free(e); return OK; }
CUresult cuGraphLaunch(Graph *e, Stream *s) { BEGIN; calls[GRAPHS]++; for (int i = 0; i < e->count; i++) done(e->nodes + i); return OK; }

/* How cuda.bindings finds all of these: by name, under the version that it asks for or an older. */
CUresult cuGetProcAddress_v2(const char *name, void **f, int v, uint64_t flags, int *status) {
  char with[128];
  const char *forms[] = {"%s_v2", "%s", "%sWithFlags"};
  *f = 0;
  for (int i = 0; i < 3 && !*f; i++) {
    snprintf(with, sizeof with, forms[i], name);
    *f = dlsym(RTLD_DEFAULT, with);
  }
  if (status) *status = *f ? 0 : 1;
  return *f ? OK : NOTFOUND;
}
