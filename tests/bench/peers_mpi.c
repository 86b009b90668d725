/* The MPI side of the benchmark `peers`: times one collective, in place, in loops of back-to-back
   calls, and prints one line for each loop: bytes of the whole buffer, seconds a call of the
   slowest rank. Usage: peers_mpi COLLECTIVE LOOPS BYTES:ITERATIONS... */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void call(const char* collective, float* data, int count, int size) {
  const int part = count / size;
  switch (collective[0]) {
    case 'b':
      MPI_Bcast(data, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
      break;
    case 'r':
      MPI_Reduce_scatter_block(MPI_IN_PLACE, data, part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      break;
    default:
      if (strcmp(collective, "allgather") == 0) {
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, part, MPI_FLOAT, MPI_COMM_WORLD);
      } else {
        MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      }
  }
}

int main(int argc, char** argv) {
  int rank = 0, size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int loops = argc > 2 ? atoi(argv[2]) : 0;
  for (int i = 3; i < argc; ++i) {
    unsigned long bytes = 0;
    int iterations = 0;
    if (sscanf(argv[i], "%lu:%d", &bytes, &iterations) != 2) MPI_Abort(MPI_COMM_WORLD, 2);
    void* data = NULL;
    if (posix_memalign(&data, 4096, bytes) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
    memset(data, 0, bytes);
    for (int loop = -1; loop < loops; ++loop) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double start = MPI_Wtime();
      for (int k = 0; k < (loop < 0 ? (iterations + 9) / 10 : iterations); ++k) {
        call(argv[1], data, (int)(bytes / sizeof(float)), size);
      }
      const double seconds = (MPI_Wtime() - start) / iterations;
      double slowest = 0.0;
      MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
      if (rank == 0 && loop >= 0) printf("%lu %.9e\n", bytes, slowest);
    }
    free(data);
  }
  MPI_Finalize();
  return 0;
}
