# Reads the terminal and has a clock beside it, of the kind that the first word names, every so many seconds (the third word). The
# second word says what it does when the clock strikes: it "prints" a line, or is "silent".
import ctypes, os, select, signal, struct, sys, time

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
