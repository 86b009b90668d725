#include "experiments/launched.hpp"

int main(int argc, char** argv) {
  return tutti::run_launched(argc, argv);
}
