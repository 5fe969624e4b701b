/* A process of the person's that an attempt may want to read, change, stop or end. It counts every signal that can be caught, and
 * for each byte on its standard input prints one line: the signals so far, and whether its memory is as it was. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t signals;
/* Filled at the start from an argument, so that no file holds it. */
char memory[64] = "SECRET-OF-MEMORY:";
static char copy[64];

static void count(int number) {
    (void)number;
    signals++;
}

int main(int argc, char **argv) {
    char byte, line[64];
    struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
    for (int number = 1; number < 65; number++) sigaction(number, &action, 0);
    if (argc > 1) {
        strncpy(memory, argv[1], sizeof memory - 1);
        strcpy(copy, memory);
        /* The secret must not be had from the command line. */
        memset(argv[1], 'x', strlen(argv[1]));
    }
    while (read(0, &byte, 1) == 1) {
        int length = snprintf(line, sizeof line, "%d %s\n", (int)signals, strcmp(memory, copy) ? "changed" : "intact");
        if (write(1, line, length) != length) return 1;
    }
    return 0;
}
