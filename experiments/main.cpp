#include "experiments/command_line.hpp"

int main(int argc, char** argv) {
  return tutti::run_command_line(argc, argv);
}
