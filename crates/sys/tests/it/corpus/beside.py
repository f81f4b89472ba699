# Does the work that the first word names, while a helper thread reads the terminal. Prints "ready" once both are under way.
import asyncio, select, subprocess, sys, threading, time

def read():
    for line in sys.stdin:
        print("read", line)

def compute(seconds):
    # Of its own processor time: on a crowded machine it takes longer, and is as much work.
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

def with_helper(work):
    threading.Thread(target=read, daemon=True).start()
    print("ready", flush=True)
    while True:
        work()

def poll(timeout, seconds):
    print("ready", flush=True)
    while True:
        if select.select([sys.stdin], [], [], timeout)[0]:
            sys.stdin.readline()
        compute(seconds)

word = sys.argv[1]
if word == "compute":
    with_helper(lambda: compute(1))
elif word == "sleep":
    with_helper(lambda: time.sleep(1000))
elif word == "sleep, work":
    with_helper(lambda: (time.sleep(0.01), compute(0.005)))
elif word == "child sleeps":
    with_helper(lambda: subprocess.run(["sleep", "1000"]))
elif word == "child computes":
    with_helper(lambda: subprocess.run(["sh", "-c", "while :; do :; done"]))
elif word == "output of a child":
    with_helper(lambda: subprocess.run(["sleep", "1000"], stdout=subprocess.PIPE))
elif word == "event loop":
    with_helper(lambda: asyncio.run(asyncio.sleep(1000)))
elif word == "poll":
    poll(float(sys.argv[2]), float(sys.argv[3]))
