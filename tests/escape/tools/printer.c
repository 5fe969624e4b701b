/* A program of the person's, and a library when built as one: it prints a secret that stands in the file itself. The placeholder is
 * replaced in the built file. */
#include <string.h>
#include <unistd.h>

static const char secret[] = "canary-@@@@@@@@@@@@@@@@@@@@@@@@\n";

__attribute__((constructor)) static void print(void) {
    if (write(1, secret, strlen(secret)) < 0) _exit(1);
}

int main(void) { return 0; }
