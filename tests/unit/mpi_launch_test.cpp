// What launchers write into the environment.
#include "exec/mpi_launch.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tutti {
namespace {

class MpiLaunch : public testing::Test {
 protected:
  MpiLaunch() {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE",
                             "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}) {
      unsetenv(name);
    }
  }

  static void expect_found(const char* rank, const char* size) {
    setenv(rank, "3", 1);
    setenv(size, "8", 1);
    EXPECT_EQ(mpi_launch().rank, 3) << rank;
    EXPECT_EQ(mpi_launch().size, 8) << size;
  }
};

TEST_F(MpiLaunch, AProcessThatNobodyLaunchedIsAlone) {
  EXPECT_EQ(mpi_launch().rank, 0);
  EXPECT_EQ(mpi_launch().size, 1);
}

TEST_F(MpiLaunch, OpenMpiIsKnownByItsVariables) {
  expect_found("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
}

TEST_F(MpiLaunch, MpichIsKnownByItsVariables) {
  expect_found("PMI_RANK", "PMI_SIZE");
}

TEST_F(MpiLaunch, SrunIsKnownByItsVariables) {
  expect_found("SLURM_PROCID", "SLURM_STEP_NUM_TASKS");
}

TEST_F(MpiLaunch, WhatMakesNoSenseIsNoLaunch) {
  setenv("PMI_SIZE", "8", 1);
  EXPECT_EQ(mpi_launch().size, 1);
  setenv("PMI_RANK", "8", 1);
  EXPECT_EQ(mpi_launch().size, 1);
  setenv("PMI_RANK", "x", 1);
  EXPECT_EQ(mpi_launch().size, 1);
}

}  // namespace
}  // namespace tutti
