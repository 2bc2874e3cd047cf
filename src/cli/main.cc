#include "cli/command.h"

int main(int argc, char** argv) { return hstu::RunCommandLine(argc, argv); }
