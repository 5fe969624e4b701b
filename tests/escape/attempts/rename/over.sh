# Replaces the configuration as an editor does: a new file, then a rename over the old.
printf '[core]\n\tfsmonitor = ./owned\n' >.git/config.new && mv .git/config.new .git/config
