# The runtime's own threads, a child, a server on the loopback, a watcher and a file.
set -e
node -e '
const { Worker } = require("worker_threads"), { execFileSync } = require("child_process"), http = require("http"), fs = require("fs");
const echo = execFileSync("cat", { input: "piped" }).toString();
new Worker("require(\"worker_threads\").parentPort.postMessage(1)", { eval: true }).on("message", () => {
  const server = http.createServer((_, reply) => reply.end("served")).listen(0, "127.0.0.1", () =>
    http.get({ port: server.address().port, host: "127.0.0.1" }, (got) => got.on("data", (data) => {
      fs.writeFileSync("out", echo + data); server.close(); process.exit(0);
    })));
});
' && [ "$(cat out)" = pipedserved ]
echo works
