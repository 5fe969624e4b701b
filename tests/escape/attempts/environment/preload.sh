# The library says in a file that it was loaded, in every program but the host itself.
cat >ran.c <<'C'
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void ran(void) {
    char name[256] = {0};
    if (readlink("/proc/self/exe", name, 255) > 0 && strstr(name, "/echo")) open("ran", O_CREAT | O_WRONLY, 0644);
}
C
cc -shared -fPIC -o ran.so ran.c
LD_PRELOAD=$PWD/ran.so "$MICROCODER" exec --access "$ACCESS" -- /bin/echo hello
