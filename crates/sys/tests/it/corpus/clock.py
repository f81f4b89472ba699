# Reads the terminal and has a clock beside it, of the kind that the first word names, every so many seconds (the third word). The
# second word says what it does when the clock strikes: it "prints" a line, or is "silent".
import ctypes, os, select, signal, socket, struct, subprocess, sys, threading, time

kind, prints, seconds = sys.argv[1], sys.argv[2] == "prints", float(sys.argv[3])

def strike(*_):
    if prints:
        print("tick", flush=True)

def timerfd():
    libc = ctypes.CDLL(None, use_errno=True)
    timer = libc.timerfd_create(1, 0)
    part = (int(seconds), int(seconds % 1 * 1e9))
    assert libc.timerfd_settime(timer, 0, struct.pack("4q", *part, *part), None) == 0
    return timer

print("ready" if prints else "Name: ", end="\n" if prints else "", flush=True)
if kind == "select":
    while not select.select([0], [], [], seconds)[0]:
        strike()
elif kind == "poll":
    one = select.poll()
    one.register(0, select.POLLIN)
    while not one.poll(seconds * 1000):
        strike()
elif kind in ("epoll", "timerfd"):
    one = select.epoll()
    one.register(0, select.EPOLLIN)
    timer = timerfd() if kind == "timerfd" else -1
    if kind == "timerfd":
        one.register(timer, select.EPOLLIN)
    while 0 not in (found := [number for number, _ in one.poll(seconds if timer < 0 else None)]):
        strike()
        if timer in found:
            os.read(timer, 8)
elif kind == "alarm":
    signal.signal(signal.SIGALRM, strike)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    sys.stdin.readline()
elif kind == "fork":
    if os.fork() == 0:
        while True:
            time.sleep(seconds)
            strike()
    sys.stdin.readline()
elif kind == "fork, waits":
    theirs, ours = os.pipe()
    if os.fork() == 0:
        os.close(ours)
        os.read(theirs, 1)
        os._exit(0)
    sys.stdin.readline()
elif kind == "thread":
    def wait():
        while not threading.Event().wait(seconds):
            strike()
    threading.Thread(target=wait, daemon=True).start()
    sys.stdin.readline()
elif kind == "thread's condition":
    def wait_on_condition():
        condition = threading.Condition()
        with condition:
            while not condition.wait(seconds):
                strike()
    threading.Thread(target=wait_on_condition, daemon=True).start()
    sys.stdin.readline()
elif kind == "parent waits":
    child = subprocess.Popen(["cat"])
    while True:
        try:
            sys.exit(child.wait(seconds))
        except subprocess.TimeoutExpired:
            strike()
elif kind == "parent polls":
    theirs, ours = os.pipe()
    subprocess.Popen(["cat"])
    while not select.select([theirs], [], [], seconds)[0]:
        strike()
elif kind == "parent's alarm":
    child = subprocess.Popen(["cat"])
    signal.signal(signal.SIGALRM, strike)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    child.wait()
elif kind == "left":
    word = "echo tick" if prints else ":"
    subprocess.Popen(["sh", "-c", f"while sleep {seconds}; do {word}; done"], start_new_session=True)
    sys.stdin.readline()
elif kind == "left, group":
    word = "echo tick" if prints else ":"
    subprocess.Popen(["sh", "-c", f"while sleep {seconds}; do {word}; done"], process_group=0)
    sys.stdin.readline()
elif kind == "left, pipe":
    loop = ["sh", "-c", f"while sleep {seconds}; do echo tick; done"]
    child = subprocess.Popen(loop, start_new_session=True, stdout=subprocess.PIPE, text=True)
    def copy():
        for line in child.stdout:
            if prints:
                print(line, end="", flush=True)
    threading.Thread(target=copy, daemon=True).start()
    sys.stdin.readline()
elif kind == "child":
    word = "print('tick', flush=True)" if prints else "pass"
    subprocess.Popen([sys.executable, "-c", f"import time\nwhile True: time.sleep({seconds}); {word}"])
    sys.stdin.readline()
elif kind in ("thread's child", "thread's child, own session"):
    def run():
        while True:
            subprocess.run(["sleep", str(seconds)], start_new_session="own" in kind, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            strike()
    threading.Thread(target=run, daemon=True).start()
    sys.stdin.readline()
elif kind.startswith("writer"):
    # A child without output of its own, and a thread or the main thread that waits for the pipe or socket from it.
    theirs, ours = [end.detach() for end in socket.socketpair()] if "socket" in kind else os.pipe()
    if os.fork() == 0:
        os.closerange(0, 3)
        if "own session" in kind:
            os.setsid()
        while True:
            end = time.monotonic() + seconds
            while "works" in kind and time.monotonic() < end:
                pass
            time.sleep(max(0, end - time.monotonic()))
            os.write(ours, b"x")
    def copy_bytes():
        while os.read(theirs, 1):
            strike()
    if "select" in kind:
        while 0 not in (found := select.select([0, theirs], [], [])[0]):
            os.read(theirs, 1)
            strike()
    else:
        threading.Thread(target=copy_bytes, daemon=True).start()
        sys.stdin.readline()
elif kind == "pidfd":
    def start():
        return os.pidfd_open(subprocess.Popen(["sleep", str(seconds)], start_new_session=True, stdin=subprocess.DEVNULL,
                                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid)
    child = start()
    while 0 not in select.select([0, child], [], [])[0]:
        strike()
        child = start()
elif kind == "child's end":
    def start_again(*_):
        strike()
        subprocess.Popen(["sleep", str(seconds)], start_new_session=True, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    signal.signal(signal.SIGCHLD, start_again)
    subprocess.Popen(["sleep", str(seconds)], start_new_session=True, stdin=subprocess.DEVNULL,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    sys.stdin.readline()
