# What a C project's tests are built with. The leak detector alone wants to trace, and is off.
set -e
printf '#include <stdlib.h>\nint main(int c, char **v) { char *p = malloc(4); p[c + 2] = 1; free(p); return 0; }\n' >main.c
cc -g -fsanitize=address,undefined -o main main.c && ASAN_OPTIONS=detect_leaks=0 ./main
if ASAN_OPTIONS=detect_leaks=0 ./main overflow 2>said; then exit 1; fi
grep -q heap-buffer-overflow said
cc -g -fsanitize=thread -o racing main.c && ./racing
echo works
