# Writes into a directory outside through a link to it.
ln -s "$PERSON" home && echo owned >>home/.bashrc
