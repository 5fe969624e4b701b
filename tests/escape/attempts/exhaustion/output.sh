# Output without end and without lines.
exec cat /dev/zero
