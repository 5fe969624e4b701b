# An external sort with temporary files, and every packer there is.
set -e
seq 200000 | sort -R --random-source=/dev/zero -S 1M >shuffled && sort -n -S 1M -T "$TMPDIR" shuffled | cmp - "$(seq 200000 >plain && echo plain)"
for packer in gzip bzip2 xz; do if command -v $packer >/dev/null; then $packer -c plain | $packer -dc | cmp - plain; fi; done
dd if=plain of=copy bs=64k status=none conv=fsync && cmp plain copy && split -n 4 plain part. && cat part.* | cmp - plain
echo works
