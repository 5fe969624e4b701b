# A package with a dependency of the workspace is installed, and its scripts run.
set -e
mkdir dep && printf '{"name":"dep","version":"1.0.0","bin":{"dep":"./dep.js"}}' >dep/package.json
printf '#!/usr/bin/env node\nconsole.log("dep ran")\n' >dep/dep.js && chmod 755 dep/dep.js
printf '{"name":"made","version":"1.0.0","scripts":{"test":"dep"}}' >package.json
npm install --offline --no-audit --no-fund --silent ./dep && npm test --silent | grep -qx 'dep ran'
echo works
