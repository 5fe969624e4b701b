# Becomes root of a namespace of its own, by each call and each kind.
unshare --user --map-root-user sh -c ': >ran'
unshare --user --map-root-user --mount --net --pid --fork sh -c ': >ran'
python3 -c 'import ctypes; ctypes.CDLL(None).unshare(0x10000000) == 0 and open("ran", "w")'
