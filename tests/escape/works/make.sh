# Eight targets at once, in a job server's hands.
set -e
printf 'all: a b c d e f g h\na b c d e f g h: ; @sleep 0.01; echo $@ >$@.made; $(MAKE) -s -f inner $@.inner\n' >Makefile
printf '%%.inner: ; @echo $@ >$@.made\n' >inner
make -s -j4 && [ "$(ls ./*.made | wc -l)" = 16 ]
echo works
