/* A program of the person's that runs as root for everybody: it prints the file it is given. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char text[100];
    int file = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    if (file < 0) return perror("open"), 1;
    ssize_t size = read(file, text, sizeof text);
    return size < 0 || write(1, text, size) != size;
}
