# A program and a library, linked and run; the library is loaded at run time too.
set -e
printf 'int twice(int n) { return 2 * n; }\n' >twice.c
printf 'int twice(int); int main(void) { return twice(21) == 42 ? 0 : 1; }\n' >main.c
cc -shared -fPIC -o libtwice.so twice.c && cc -o main main.c -L. -ltwice -Wl,-rpath,'$ORIGIN' && ./main
cc -flto -O2 -g -o whole main.c twice.c && ./whole && ar rcs libt.a main && nm libt.a >/dev/null
python3 -c 'import ctypes; assert ctypes.CDLL("./libtwice.so").twice(4) == 8'
echo works
