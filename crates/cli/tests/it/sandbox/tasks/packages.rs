//! Packages from an index on this machine: registry content that is served on the loopback device, or cached in a home
//! directory that cannot be written.

use super::{Reach, Task};

pub(super) const TASKS: &[Task] = &[
    Task {
        name: "cargo_build_with_a_warm_registry",
        needs: &["cargo", "python3"],
        reach: Reach::Nobody,
        before: r#"export CARGO_HOME=$HOME/.cargo no_proxy=127.0.0.1
           cargo init -q --vcs none --lib --name little little; (cd little; cargo package -q --offline --no-verify 2> /dev/null)
           mkdir -p served/index/li/tt; cp little/target/package/little-0.1.0.crate served/
           mkfifo port; python3 -c 'import functools, http.server as h; s = h.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(h.SimpleHTTPRequestHandler, directory="served")); print(s.server_port, file=open("port", "w")); s.serve_forever()' 2> log & server=$!
           read -r port < port
           echo "{\"dl\":\"http://127.0.0.1:$port/{crate}-{version}.crate\"}" > served/index/config.json
           sum=$(sha256sum < served/little-0.1.0.crate | cut -d' ' -f1)
           echo "{\"name\":\"little\",\"vers\":\"0.1.0\",\"deps\":[],\"cksum\":\"$sum\",\"features\":{},\"yanked\":false}" > served/index/li/tt/little
           printf '[source.crates-io]\nreplace-with = "near"\n[source.near]\nregistry = "sparse+http://127.0.0.1:%s/index/"\n' "$port" > "$CARGO_HOME/config.toml"
           cargo init -q --vcs none --name outer outer; cd outer; echo 'little = "0.1"' >> Cargo.toml; cargo fetch -q
           kill $server"#,
        script: r#"export CARGO_HOME=$HOME/.cargo; cd outer; echo 'fn main() { println!("{}", little::add(40, 2)); }' > src/main.rs
           cargo run -q --offline > ../said"#,
        check: "grep -qx 42 said; grep -q little outer/Cargo.lock",
    },
    Task {
        name: "pip_install_from_an_index",
        needs: &["python3"],
        reach: Reach::Loopback,
        before: "",
        script: r#"unset PIP_FIND_LINKS; export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 no_proxy=127.0.0.1
           mkdir -p simple/little little-1.dist-info; echo 'value = 42' > little.py
           printf 'Metadata-Version: 2.1\nName: little\nVersion: 1\n' > little-1.dist-info/METADATA
           printf 'Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n' > little-1.dist-info/WHEEL
           printf 'little.py,,\nlittle-1.dist-info/METADATA,,\nlittle-1.dist-info/WHEEL,,\nlittle-1.dist-info/RECORD,,\n' > little-1.dist-info/RECORD
           python3 -c 'import zipfile, glob; z = zipfile.ZipFile("simple/little/little-1-py3-none-any.whl", "w"); [z.write(f) for f in ["little.py", *glob.glob("little-1.dist-info/*")]]; z.close()'
           rm little.py; mkfifo port; python3 -c 'import http.server as h; s = h.ThreadingHTTPServer(("127.0.0.1", 0), h.SimpleHTTPRequestHandler); print(s.server_port, file=open("port", "w")); s.serve_forever()' 2> log & server=$!
           read -r port < port; python3 -m venv env; env/bin/pip install -q --index-url "http://127.0.0.1:$port/simple" little; kill $server
           cd /; "$OLDPWD/env/bin/python" -c 'import little; print(little.value)' > "$OLDPWD/said""#,
        check: "grep -qx 42 said; grep -q 'GET /simple/little/' log",
    },
    Task {
        name: "npm_install_from_a_registry",
        needs: &["npm"],
        reach: Reach::Loopback,
        before: "",
        script: r#"export npm_config_cache=$PWD/cache npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false no_proxy=127.0.0.1 NO_PROXY=127.0.0.1
           mkdir -p little; echo '{"name":"little","version":"1.0.0","main":"i.js"}' > little/package.json; echo 'module.exports = 44' > little/i.js
           (cd little; npm pack --silent --cache ../other > /dev/null); mkfifo port; node -e 'const fs = require("fs"), packed = fs.readFileSync("little/little-1.0.0.tgz"); const s = require("http").createServer((q, a) => { fs.appendFileSync("log", q.url + "\n"); const sum = require("crypto").createHash("sha512").update(packed).digest("base64"); q.url.endsWith(".tgz") ? a.end(packed) : a.end(JSON.stringify({ name: "little", "dist-tags": { latest: "1.0.0" }, versions: { "1.0.0": { name: "little", version: "1.0.0", main: "i.js", dist: { tarball: "http://127.0.0.1:" + s.address().port + "/little.tgz", integrity: "sha512-" + sum } } } })) }).listen(0, "127.0.0.1", () => fs.writeFileSync("port", s.address().port + "\n"))' & server=$!
           read -r port < port; echo '{"name":"big","version":"1.0.0","dependencies":{"little":"^1.0.0"}}' > package.json
           npm install --silent --registry "http://127.0.0.1:$port/"; kill $server; node -p 'require("little")' > said"#,
        check: "grep -qx 44 said; grep -qx /little.tgz log; grep -q sha512 package-lock.json",
    },
    Task {
        name: "pytest",
        needs: &["pytest-3"],
        reach: Reach::Nobody,
        before: "",
        script: r#"printf 'import pytest\n@pytest.fixture\ndef place(tmp_path):\n    return tmp_path / "x"\ndef test_file(place):\n    place.write_text("y")\n    assert place.read_text() == "y"\n@pytest.mark.parametrize("n", [1, 2, 3])\ndef test_many(n, capsys, monkeypatch):\n    monkeypatch.setenv("N", str(n))\n    print(n)\n    assert capsys.readouterr().out == "%%d\\n" %% n\n' > test_it.py
           env -u PYTHONDONTWRITEBYTECODE pytest-3 -q > said"#,
        check: "grep -q '4 passed' said; test -d .pytest_cache",
    },
];
