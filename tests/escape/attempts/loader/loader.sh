# Has the loader run a program that may not even be read.
for loader in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do if [ -e $loader ]; then $loader "$OUTSIDE/program"; fi; done
