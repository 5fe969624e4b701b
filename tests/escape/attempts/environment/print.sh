# Prints every variable that reached it.
env; set
