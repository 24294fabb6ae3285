// What the memory of this machine allows: passes over buffers on huge pages that do nothing but read and write.
#define _GNU_SOURCE
#include "floor.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#if defined(__AVX__)
#include <immintrin.h>
#endif

#if defined(__AVX__)
typedef __m256i vec;
static inline vec load(const char *p) { return _mm256_loadu_si256((const __m256i *)p); }
static inline vec mix(vec a, vec b) { return _mm256_castpd_si256(_mm256_xor_pd(_mm256_castsi256_pd(a), _mm256_castsi256_pd(b))); }
static inline void put(char *p, vec v) { _mm256_storeu_si256((__m256i *)p, v); }
static inline void stream(char *p, vec v) { _mm256_stream_si256((__m256i *)p, v); }
static inline void fence(void) { _mm_sfence(); }
static inline void relax(void) { _mm_pause(); }
#else
typedef long long vec __attribute__((vector_size(32), aligned(8)));
static inline vec load(const char *p) { return *(const vec *)p; }
static inline vec mix(vec a, vec b) { return a ^ b; }
static inline void put(char *p, vec v) { *(vec *)p = v; }
static inline void stream(char *p, vec v) { put(p, v); }
static inline void fence(void) {}
static inline void relax(void) {}
#endif

enum { huge = 2 << 20 };

char *floor_map(size_t n) {
  size_t size = (n + huge - 1) / huge * huge + huge;
  char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return NULL;
  madvise(p, size, MADV_HUGEPAGE);
  char *at = p + (huge - (size_t)p % huge) % huge;
  memset(at, 1, n);
  return at;
}

// pass does blocks [from, to). Each block reads in[i] bytes of stream i and writes out[i] bytes, multiples of 64.
static void pass(const floor_job *j, long from, long to) {
  vec a = {0}, b = {0}, c = {0}, d = {0};
  for (long k = from; k < to; k++) {
    for (int s = 0; s < j->nin; s++) {
      const char *p = j->in[s] + k * j->inBytes[s];
      long n = j->inBytes[s];
      for (long i = 0; i + 128 <= n; i += 128) {
        a = mix(a, load(p + i));
        b = mix(b, load(p + i + 32));
        c = mix(c, load(p + i + 64));
        d = mix(d, load(p + i + 96));
      }
      if (n % 128) {
        a = mix(a, load(p + n - 64));
        b = mix(b, load(p + n - 32));
      }
    }
    for (int s = 0; s < j->nout; s++) {
      char *p = j->out[s] + k * j->outBytes[s];
      if (j->stream && j->outBytes[s] >= 512)
        for (long i = 0; i < j->outBytes[s]; i += 32) stream(p + i, a);
      else
        for (long i = 0; i < j->outBytes[s]; i += 32) put(p + i, a);
    }
  }
  if (j->stream) fence();
  volatile vec sink = mix(mix(a, b), mix(c, d));
  (void)sink;
}

// gather reads rows of in[0] at random places, in blocks of 512 rows.
static void gather(const floor_job *j, long from, long to) {
  const long *index = (const long *)j->in[1];
  for (long i = from * 512; i < to * 512; i++) {
    __builtin_prefetch((const char *)j->in[0] + index[i + 24] * j->width);
    if (j->width == 8)
      ((long *)j->out[0])[i] = ((const long *)j->in[0])[index[i]];
    else
      ((int *)j->out[0])[i] = ((const int *)j->in[0])[index[i]];
  }
}

static void part(const floor_job *j, long from, long to) {
  if (j->width)
    gather(j, from, to);
  else
    pass(j, from, to);
}

// The second thread waits, spinning, for passes to share.
static atomic_long asked, answered;
static atomic_int quit;
static const floor_job *shared;

static void *helper(void *unused) {
  for (long seen = 0; !quit;) {
    if (asked == seen) {
      relax();
      continue;
    }
    seen++;
    part(shared, shared->blocks / 2, shared->blocks);
    answered = seen;
  }
  return unused;
}

double floor_run(const floor_job *j, int threads, int n) {
  pthread_t t;
  asked = 0, answered = 0, quit = 0;
  if (threads == 2 && pthread_create(&t, NULL, helper, NULL)) return -1;
  struct timespec from, to;
  shared = j;
  for (int i = -1; i < n; i++) {
    if (i == 0) clock_gettime(CLOCK_MONOTONIC, &from);
    if (threads == 2) {
      long want = ++asked;
      part(j, 0, j->blocks / 2);
      while (answered != want) relax();
    } else {
      part(j, 0, j->blocks);
    }
  }
  clock_gettime(CLOCK_MONOTONIC, &to);
  quit = 1;
  if (threads == 2) pthread_join(t, NULL);
  return (to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec);
}
