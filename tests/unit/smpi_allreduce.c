// The oracle's program: SMPI's own allreduce of argv[1] floats; prints its simulated seconds.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int count = atoi(argv[1]);
  float* const input = SMPI_SHARED_MALLOC(sizeof(float) * (size_t)count);
  float* const output = SMPI_SHARED_MALLOC(sizeof(float) * (size_t)count);
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  MPI_Allreduce(input, output, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  const double seconds = MPI_Wtime() - began;
  double longest = 0;
  MPI_Reduce(&seconds, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("%.17g\n", longest);
  SMPI_SHARED_FREE(input);
  SMPI_SHARED_FREE(output);
  MPI_Finalize();
  return 0;
}
