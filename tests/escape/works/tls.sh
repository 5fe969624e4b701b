# A key, a certificate, and a conversation under it on the loopback.
set -e
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key -out cert -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null
python3 - <<'P'
import socket, ssl, threading
server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
server.load_cert_chain("cert", "key")
listener = socket.create_server(("127.0.0.1", 0))
def serve():
    with server.wrap_socket(listener.accept()[0], server_side=True) as spoken:
        spoken.sendall(b"hello")
threading.Thread(target=serve).start()
client = ssl.create_default_context(cafile="cert")
with client.wrap_socket(socket.create_connection(listener.getsockname()), server_hostname="localhost") as heard:
    assert heard.recv(5) == b"hello"
P
echo works
