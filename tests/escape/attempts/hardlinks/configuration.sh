# Gives the configuration a second name in the workspace, and writes through that.
ln .git/config mine && printf '[core]\n\tfsmonitor = ./owned\n' >>mine
