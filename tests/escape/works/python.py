"""What Python's own library asks of the kernel; each case is one function and is named on the command line."""

import asyncio
import concurrent.futures
import ctypes
import errno
import fcntl
import mmap
import multiprocessing
import os
import pathlib
import pwd
import resource
import select
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)


def double(number: int) -> int:
    return 2 * number


def multiprocessing_pool() -> None:
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        with context.Pool(2) as pool:
            assert pool.map(double, range(4)) == [0, 2, 4, 6]


def multiprocessing_shared() -> None:
    value, lock, queue = multiprocessing.Value("i", 0), multiprocessing.Lock(), multiprocessing.Queue()

    def add() -> None:
        with lock:
            value.value += 1
        queue.put(1)

    started = [multiprocessing.get_context("fork").Process(target=add) for _ in range(4)]
    [process.start() for process in started]
    assert sum(queue.get() for _ in started) == 4
    [process.join() for process in started]
    assert value.value == 4
    from multiprocessing import shared_memory

    block = shared_memory.SharedMemory(create=True, size=4096)
    block.buf[0] = 7
    again = shared_memory.SharedMemory(block.name)
    assert again.buf[0] == 7
    again.close()
    block.close()
    block.unlink()


def asyncio_loop() -> None:
    async def main() -> None:
        process = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
        assert (await process.communicate(b"through"))[0] == b"through"
        server = await asyncio.start_server(lambda r, w: (w.write(b"hello"), w.close()), "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        assert await reader.read() == b"hello"
        writer.close()
        assert await asyncio.to_thread(double, 2) == 4
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR1, (done := asyncio.Event()).set)
        os.kill(os.getpid(), signal.SIGUSR1)
        await asyncio.wait_for(done.wait(), 10)
        server.close()

    asyncio.run(main())


def socket_pair() -> None:
    """Report 7."""
    one, other = socket.socketpair()
    one.send(b"x")
    assert other.recv(1) == b"x"
    for kind in (socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        one, other = socket.socketpair(socket.AF_UNIX, kind)
        one.sendmsg([b"y"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", 1))])
        assert other.recvmsg(1, 64)[0] == b"y"


def unix_sockets() -> None:
    for address in ("here.sock", os.environ["TMPDIR"] + "/s.sock", "\0own-" + str(os.getpid())):
        for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
            with socket.socket(socket.AF_UNIX, kind) as server, socket.socket(socket.AF_UNIX, kind) as client:
                server.bind(address)
                server.listen()
                client.connect(address)
                accepted, _ = server.accept()
                client.send(b"z")
                assert accepted.recv(1) == b"z"
                accepted.close()
            if address[0] != "\0":
                os.unlink(address)


def loopback() -> None:
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with socket.socket(family) as server, socket.socket(family) as client:
            server.bind((host, 0))
            server.listen()
            client.connect(server.getsockname()[:2])
        with socket.socket(family, socket.SOCK_DGRAM) as server, socket.socket(family, socket.SOCK_DGRAM) as client:
            server.bind((host, 0))
            client.sendto(b"d", server.getsockname()[:2])
            assert server.recv(1) == b"d"
    assert socket.getaddrinfo("localhost", 80)
    assert "lo" in [name for _, name in socket.if_nameindex()]


def threads() -> None:
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        assert sum(pool.map(double, range(100))) == 9900
    event = threading.Event()
    threading.Timer(0.01, event.set).start()
    assert event.wait(10)


def processes() -> None:
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        assert sum(pool.map(double, range(10))) == 90
    assert subprocess.run("exit 3", shell=True).returncode == 3
    assert os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)[1]) == 0
    child = subprocess.Popen(["sleep", "60"], start_new_session=True)
    os.killpg(child.pid, signal.SIGTERM)
    assert child.wait() == -signal.SIGTERM
    assert subprocess.run(["sh", "-c", "kill -SEGV $$"]).returncode == -signal.SIGSEGV


def sqlite_wal() -> None:
    one = sqlite3.connect("w.db", isolation_level=None)
    assert one.execute("PRAGMA journal_mode=WAL").fetchone() == ("wal",)
    one.execute("CREATE TABLE t(n)")
    insert = "(c.execute('INSERT INTO t VALUES (1)'), c.commit())"
    writer = f"import sqlite3; c = sqlite3.connect('w.db', timeout=30); [{insert} for _ in range(20)]"
    running = [subprocess.Popen([sys.executable, "-c", writer]) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert one.execute("SELECT count(*) FROM t").fetchone() == (60,)
    assert os.path.exists("w.db-wal") and os.path.exists("w.db-shm")


def temporary_files() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile() as unnamed,
        tempfile.NamedTemporaryFile() as named,
    ):
        pathlib.Path(folder, "x").write_text("x")
        unnamed.write(b"u")
        named.write(b"n")
    descriptor = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
    os.write(descriptor, b"late")
    os.link(str(descriptor), "named", src_dir_fd=os.open("/proc/self/fd", os.O_RDONLY), follow_symlinks=True)
    assert pathlib.Path("named").read_text() == "late"
    pathlib.Path("/dev/shm/own").write_text("s")
    pathlib.Path("/tmp/own").write_text("t")


def names() -> None:
    for name in (b"caf\xe9", b"\xff\xfe", b"new\nline", b" ", b"-rf", b"*", "\u202e\u00e9e\u0301".encode(), b"n" * 255):
        with open(name, "wb") as file:
            file.write(name)
    assert b"caf\xe9" in os.listdir(b".") and b"n" * 255 in os.listdir(b".")
    try:
        open(b"n" * 256, "wb")
        raise AssertionError("a name of 256 bytes")
    except OSError as error:
        assert error.errno == errno.ENAMETOOLONG


def long_paths() -> None:
    """Deeper than a path can name at once."""
    start = os.open(".", os.O_RDONLY)
    for _ in range(40):
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
    pathlib.Path("file").write_text("deep")
    assert len(os.listdir(".")) == 1
    os.fchdir(start)
    subprocess.run(["rm", "-rf", "d" * 200], check=True)
    deep = "/".join(["e" * 100] * 35)
    os.makedirs(deep)
    pathlib.Path(deep, "f").write_text("x")


def locks() -> None:
    with open("lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        tried = "import fcntl\ntry: fcntl.flock(open('lock'), fcntl.LOCK_EX | fcntl.LOCK_NB)\nexcept BlockingIOError: print('busy')"
        assert subprocess.check_output([sys.executable, "-c", tried]) == b"busy\n"
        fcntl.flock(held, fcntl.LOCK_UN)
        fcntl.lockf(held, fcntl.LOCK_EX)
        tried = tried.replace("flock(open('lock')", "lockf(open('lock', 'a')")
        assert subprocess.check_output([sys.executable, "-c", tried]) == b"busy\n"
        F_OFD_SETLK = 37
        with open("other", "w") as other:
            fcntl.fcntl(other, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))


def watching() -> None:
    watcher = libc.inotify_init1(0)
    assert watcher >= 0
    assert libc.inotify_add_watch(watcher, b".", 0x100) >= 0
    pathlib.Path("appeared").write_text("x")
    assert b"appeared" in os.read(watcher, 4096)


def mapping() -> None:
    with open("mapped", "wb+") as file:
        file.truncate(1 << 20)
        shared = mmap.mmap(file.fileno(), 1 << 20)
        if os.fork() == 0:
            shared[0:5] = b"child"
            shared.flush()
            os._exit(0)
        os.wait()
        assert shared[0:5] == b"child"
    # Code made at run time: mov eax, 42; ret
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x2a\x00\x00\x00\xc3")
    assert ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))() == 42


def copying() -> None:
    pathlib.Path("from").write_bytes(b"x" * 100_000)
    source, target = os.open("from", os.O_RDONLY), os.open("to", os.O_RDWR | os.O_CREAT)
    assert os.copy_file_range(source, target, 50_000) == 50_000
    assert os.sendfile(target, source, 50_000, 50_000) == 50_000
    os.posix_fallocate(target, 0, 200_000)
    os.truncate("to", 1 << 30)
    assert os.stat("to").st_blocks < 1 << 12
    reader, writer = os.pipe()
    assert os.splice(source, writer, 1000, offset_src=0) == 1000
    os.setxattr("from", "user.note", b"kept")
    assert os.getxattr("from", "user.note") == b"kept"
    os.fsync(target)
    os.utime("from", (1, 1))
    assert os.stat("from").st_mtime == 1


def events() -> None:
    poll = select.epoll()
    event = os.eventfd(0)
    poll.register(event, select.EPOLLIN)
    os.eventfd_write(event, 1)
    assert poll.poll(10)
    assert libc.timerfd_create(1, 0) >= 0
    assert libc.signalfd(-1, ctypes.byref((ctypes.c_ulong * 2)()), 0) >= 0
    memory = os.memfd_create("m")
    os.write(memory, b"m")
    assert os.pread(memory, 1, 0) == b"m"
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    assert signal.sigtimedwait([signal.SIGCHLD], 0.05) is None


def system_v() -> None:
    shared = libc.shmget(1234, 4096, 0o1600)
    assert shared >= 0
    libc.shmat.restype = ctypes.c_void_p
    assert libc.shmat(shared, None, 0) not in (None, -1)
    assert libc.semget(1234, 1, 0o1600) >= 0
    assert libc.msgget(1234, 0o1600) >= 0


def pipes() -> None:
    os.mkfifo("fifo")
    if os.fork() == 0:
        pathlib.Path("fifo").write_text("through")
        os._exit(0)
    assert pathlib.Path("fifo").read_text() == "through"
    os.wait()
    reader, writer = os.pipe()
    assert fcntl.fcntl(writer, 1031, 1 << 18) >= 1 << 18


def itself() -> None:
    assert pwd.getpwuid(0).pw_name == "root"
    assert os.access(os.environ["HOME"], os.W_OK) and pathlib.Path.home() == pathlib.Path(os.environ["HOME"])
    assert pathlib.Path("/proc/self/exe").exists() and os.getcwd() == os.path.realpath(".")
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    assert os.sched_getaffinity(0) and os.cpu_count()
    os.setpriority(os.PRIO_PROCESS, 0, 5)
    assert time.clock_gettime(time.CLOCK_MONOTONIC) > 0
    assert int(pathlib.Path("/proc/sys/fs/inotify/max_user_watches").read_text()) > 0
    libc.prctl(15, b"renamed", 0, 0, 0)
    assert pathlib.Path("/proc/self/comm").read_text() == "renamed\n"
    assert socket.gethostname()


def modes() -> None:
    os.umask(0o027)
    pathlib.Path("f").write_text("x")
    assert os.stat("f").st_mode & 0o777 == 0o640
    os.chmod("f", 0o400)
    os.mkdir("sticky")
    os.chmod("sticky", 0o1777)
    os.chown("f", os.getuid(), os.getgid())
    os.symlink("nowhere", "dangling")
    os.utime("dangling", (5, 5), follow_symlinks=False)
    assert os.lstat("dangling").st_mtime == 5


# A child that `spawn` makes reads this file too.
if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print("works")
