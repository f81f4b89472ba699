//! Building, testing and installing in the languages that projects use, without a network.

use super::{Reach, Task, task};

pub(super) const TASKS: &[Task] = &[
    task(
        "cargo_build",
        &["cargo"],
        r#"cargo init -q --vcs none --name small; cargo build -q --offline; ./target/debug/small > said"#,
        "grep -q Hello said",
    ),
    task(
        "cargo_test",
        &["cargo"],
        r#"cargo init -q --vcs none --lib --name tested; cargo test -q --offline > said 2>&1"#,
        "grep -q '1 passed' said",
    ),
    task(
        "cargo_path_dependency",
        &["cargo"],
        r#"cargo init -q --vcs none --lib --name inner inner; cargo init -q --vcs none --name outer outer; cd outer
           echo 'inner = { path = "../inner" }' >> Cargo.toml; echo 'fn main() { println!("{}", inner::add(40, 2)); }' > src/main.rs
           cargo run -q --offline > ../said"#,
        "grep -qx 42 said",
    ),
    task(
        "make_and_gcc",
        &["make", "gcc"],
        r#"printf '#include <stdio.h>\nint main(void) { puts("made"); }\n' > made.c
           printf 'made: made.o\n\t$(CC) -o $@ $<\n%%.o: %%.c\n\t$(CC) -c -o $@ $<\n' > Makefile; make -j2 -s; ./made > said"#,
        "grep -qx made said",
    ),
    task(
        "gcc_shared_library_and_threads",
        &["gcc"],
        r#"echo 'int answer(void) { return 42; }' > a.c; gcc -shared -fPIC -o liba.so a.c
           printf '#include <pthread.h>\nint answer(void);\nstatic void *f(void *x) { *(int *)x = answer(); return 0; }\nint main(void) { int x; pthread_t t; pthread_create(&t, 0, f, &x); pthread_join(t, 0); return x - 42; }\n' > m.c
           gcc -pthread -o m m.c -L. -la; LD_LIBRARY_PATH=. ./m; echo linked > said"#,
        "grep -qx linked said",
    ),
    task(
        "python_virtual_environment",
        &["python3"],
        "python3 -m venv --without-pip env; env/bin/python -c 'import sys; print(sys.prefix)' > said",
        "grep -q python_virtual_environment/env said",
    ),
    task(
        "pip_install_from_local_wheel",
        &["python3"],
        r#"export PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
           python3 -m venv env; mkdir -p little-1.dist-info; echo 'value = 42' > little.py
           printf 'Metadata-Version: 2.1\nName: little\nVersion: 1\n' > little-1.dist-info/METADATA
           printf 'Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n' > little-1.dist-info/WHEEL
           printf 'little.py,,\nlittle-1.dist-info/METADATA,,\nlittle-1.dist-info/WHEEL,,\nlittle-1.dist-info/RECORD,,\n' > little-1.dist-info/RECORD
           python3 -c 'import zipfile, glob; z = zipfile.ZipFile("little-1-py3-none-any.whl", "w"); [z.write(f) for f in ["little.py", *glob.glob("little-1.dist-info/*")]]; z.close()'
           rm little.py; env/bin/pip install -q ./little-1-py3-none-any.whl; cd /; "$OLDPWD/env/bin/python" -c 'import little; print(little.value)' > "$OLDPWD/said""#,
        "grep -qx 42 said",
    ),
    task(
        "python_unittest",
        &["python3"],
        r#"printf 'import unittest\nclass T(unittest.TestCase):\n    def test_sum(self):\n        self.assertEqual(1 + 1, 2)\n' > test_sum.py
           env -u PYTHONDONTWRITEBYTECODE python3 -m unittest -q 2> said"#,
        "grep -qx OK said; test -d __pycache__",
    ),
    task(
        "python_multiprocessing",
        &["python3"],
        r#"printf 'import multiprocessing as m\ndef square(x): return x * x\nif __name__ == "__main__":\n    lock = m.Lock()\n    with lock, m.Pool(2) as pool: print(sum(pool.map(square, range(10))))\n    q = m.Queue(); q.put(7); print(q.get())\n' > many.py
           python3 many.py > said"#,
        "grep -qx 285 said; grep -qx 7 said",
    ),
    task(
        "python_shared_memory",
        &["python3"],
        r#"python3 -c 'from multiprocessing import shared_memory as s; m = s.SharedMemory(create=True, size=64); m.buf[:2] = b"ok"; n = s.SharedMemory(m.name); print(bytes(n.buf[:2]).decode()); n.close(); m.close(); m.unlink()' > said"#,
        "grep -qx ok said",
    ),
    task(
        "npm_install_from_directory",
        &["npm"],
        r#"export npm_config_cache=$PWD/cache npm_config_offline=true npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false
           mkdir -p little; echo '{"name":"little","version":"1.0.0","main":"i.js"}' > little/package.json; echo 'module.exports = 42' > little/i.js
           echo '{"name":"big","version":"1.0.0","dependencies":{"little":"file:little"}}' > package.json
           npm install --silent; node -p 'require("little")' > said"#,
        "grep -qx 42 said; test -f package-lock.json",
    ),
    task(
        "npm_install_from_tarball",
        &["npm"],
        r#"export npm_config_cache=$PWD/cache npm_config_offline=true npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false
           mkdir -p little; echo '{"name":"little","version":"1.0.0","main":"i.js"}' > little/package.json; echo 'module.exports = 43' > little/i.js
           (cd little; npm pack --silent > /dev/null); echo '{"name":"big","version":"1.0.0"}' > package.json
           npm install --silent ./little/little-1.0.0.tgz; node -p 'require("little")' > said"#,
        "grep -qx 43 said",
    ),
    task(
        "npm_test",
        &["npm"],
        r#"export npm_config_update_notifier=false npm_config_cache=$PWD/cache
           echo '{"name":"t","version":"1.0.0","scripts":{"test":"node --test"}}' > package.json
           printf 'const t = require("node:test");\nt("adds", () => require("assert").equal(1 + 1, 2));\n' > sum.test.js; npm test > said 2>&1"#,
        "grep -q 'pass 1' said",
    ),
    task(
        "npm_run_scripts_one_after_the_other",
        &["npm"],
        r#"export npm_config_update_notifier=false npm_config_cache=$PWD/cache
           echo '{"name":"r","version":"1.0.0","scripts":{"prebuild":"mkdir -p out","build":"node build.js","all":"npm run build"}}' > package.json
           echo 'require("fs").writeFileSync("out/said", "built\n")' > build.js; npm run all > log 2>&1"#,
        "grep -qx built out/said",
    ),
    task(
        "npm_with_a_cache_that_cannot_be_written",
        &["npm"],
        // The directory for its logs must be set; an unwritten cache then causes no failure.
        r#"export npm_config_update_notifier=false npm_config_logs_dir=$PWD/logs
           echo '{"name":"t","version":"1.0.0","scripts":{"hello":"echo hello > said"}}' > package.json; npm run --silent hello"#,
        "grep -qx hello said",
    ),
    task(
        "node_workers_and_children",
        &["node"],
        r#"printf 'const { Worker } = require("worker_threads");\nnew Worker("require(\\"worker_threads\\").parentPort.postMessage(6 * 7)", { eval: true }).on("message", m => console.log(m));\nrequire("child_process").execFile("echo", ["child"], (e, out) => process.stdout.write(out));\n' > w.js
           node w.js > said"#,
        "grep -qx 42 said; grep -qx child said",
    ),
    Task {
        name: "python_server_and_client",
        needs: &["python3"],
        reach: Reach::Loopback,
        before: "",
        script: r#"printf 'import http.server, threading, urllib.request\nclass H(http.server.BaseHTTPRequestHandler):\n    def do_GET(self):\n        self.send_response(200); self.end_headers(); self.wfile.write(b"served\\n")\n    def log_message(self, *a): pass\ns = http.server.ThreadingHTTPServer(("127.0.0.1", 0), H)\nthreading.Thread(target=s.serve_forever, daemon=True).start()\nprint(urllib.request.urlopen("http://127.0.0.1:%%d" %% s.server_port).read().decode(), end="")\n' > serve.py
           env -u http_proxy -u HTTP_PROXY python3 serve.py > said"#,
        check: "grep -qx served said",
    },
    Task {
        name: "database_on_loopback",
        needs: &["redis-server", "redis-cli"],
        reach: Reach::Loopback,
        before: "",
        script: r#"mkfifo log; redis-server --port 7379 --bind 127.0.0.1 --dir "$PWD" --appendonly yes > log & server=$!
           grep -q 'Ready to accept connections' log; cat log > /dev/null & redis-cli -p 7379 set key kept > /dev/null
           redis-cli -p 7379 get key > said; redis-cli -p 7379 shutdown nosave || true; wait $server || true"#,
        check: "grep -qx kept said; ls appendonlydir > /dev/null",
    },
    Task {
        name: "node_server_and_shell_client",
        needs: &["node"],
        reach: Reach::Loopback,
        before: "",
        script: r#"mkfifo ready; node -e 'const s = require("net").createServer(c => c.end("served\n")).listen(0, "localhost", () => require("fs").writeFileSync("ready", s.address().family + " " + s.address().port)); process.on("SIGTERM", () => process.exit(0))' & server=$!
           read -r family port < ready || true; if [ "$family" = IPv6 ]; then host=::1; else host=127.0.0.1; fi
           cat < "/dev/tcp/$host/$port" > said; kill $server; wait $server"#,
        check: "grep -qx served said",
    },
    task(
        "java_compile_and_run",
        &["javac"],
        r#"echo 'class A { public static void main(String[] a) { System.out.println(6 * 7); } }' > A.java; javac A.java; java A > said"#,
        "grep -qx 42 said",
    ),
    task(
        "go_build",
        &["go"],
        r#"export GOCACHE=$PWD/cache GOPATH=$PWD/path GOFLAGS=-mod=mod; go mod init a 2> /dev/null
           printf 'package main\nfunc main() { println(6 * 7) }\n' > a.go; go build -o a; ./a 2> said"#,
        "grep -qx 42 said",
    ),
    task(
        "perl_script",
        &["perl"],
        "perl -e 'print join(\"-\", map { $_ * 2 } 1..3), \"\\n\"' > said",
        "grep -qx 2-4-6 said",
    ),
    task(
        "debugger_on_own_child",
        &["gdb", "gcc"],
        r#"printf 'int answer = 42;\nint main(void) { return 0; }\n' > d.c; gcc -g -o d d.c
           gdb -nx -batch -ex 'break main' -ex run -ex 'print answer' ./d > said 2>&1"#,
        "grep -q '= 42' said",
    ),
    task(
        "strace_of_own_child",
        &["strace"],
        "strace -f -o trace sh -c 'true; echo traced > said'",
        "grep -q execve trace; grep -qx traced said",
    ),
];
