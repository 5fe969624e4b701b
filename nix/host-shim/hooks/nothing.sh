# This package has no build hook.
