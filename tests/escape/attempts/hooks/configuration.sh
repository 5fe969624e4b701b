# Settings that are programs.
git config core.fsmonitor ./owned; git config alias.status '!./owned'; git config filter.x.clean ./owned
