# Twenty megabytes come through whole.
head -c 20000000 /dev/zero | tr '\0' x | fold -w 100
echo
echo works
