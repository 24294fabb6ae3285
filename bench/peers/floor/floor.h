#include <stddef.h>

typedef struct {
  int nin, nout;
  char *in[8], *out[4];
  long inBytes[8], outBytes[4]; // a block
  long blocks;
  int stream;                   // write past the caches
  long width;                   // not 0: gather values of so many bytes
} floor_job;

char *floor_map(size_t n);
double floor_run(const floor_job *j, int threads, int n);
