void bm_py_program(int argc, char **argv);
