//! The packages for Python and TypeScript, built as they are published and tested with this windlass; and the protocol
//! from which they are generated, as printed and as committed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use windlass_testkit::{Scratch, peers, survivors};

use crate::rig::{Home, WINDLASS, held, nothing_survives};

/// Packages have the same version as the program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

mod python {
    use super::*;

    #[test]
    fn the_python_package_has_types_throughout() {
        let package = Package::copied("python");
        succeeds(package.run(peers::python("clients")).args(["-m", "mypy", "--cache-dir", "cache"]));
    }

    #[test]
    fn the_python_package_passes_its_tests_as_it_is_installed() {
        let package = Package::copied("python");
        let wheel = build(&package);
        assert!(wheel.ends_with(&format!("/windlass-{VERSION}-py3-none-any.whl")), "{wheel}");
        assert_eq!(names_in(&package, &wheel), PUBLISHED, "{wheel}");

        let pip = ["-m", "pip", "install", "--no-deps", "--target", "site", &wheel];
        succeeds(package.run(peers::python("clients")).args(pip));
        // Only the installed package may be found, not its source.
        fs::remove_dir_all(package.path().join("src")).expect("it was copied");
        let tests =
            ["-m", "unittest", "discover", "--top-level-directory", ".", "--start-directory", "tests"];
        let site = package.path().join("site");
        succeeds(package.run(peers::python("clients")).args(tests).env("PYTHONPATH", site));
        package.leaves_nothing();
    }

    /// The files in the wheel: modules by their names, metadata by its ending.
    const PUBLISHED: &[&str] = &[
        "__init__.py",
        "_client.py",
        "_errors.py",
        "_link.py",
        "_output.py",
        "_process.py",
        "_transport.py",
        "_version.py",
        "protocol.py",
        "py.typed",
        "dist-info/METADATA",
        "dist-info/RECORD",
        "dist-info/WHEEL",
        "dist-info/licenses/LICENSE-APACHE",
        "dist-info/licenses/LICENSE-MIT",
    ];

    fn build(package: &Package) -> String {
        let words = ["-m", "pip", "wheel", ".", "--no-deps", "--no-build-isolation", "--wheel-dir", "wheels"];
        succeeds(package.run(peers::python("clients")).args(words));
        let wheel = fs::read_dir(package.path().join("wheels")).expect("a folder").next();
        wheel.expect("a wheel").expect("it is listed").path().display().to_string()
    }

    fn names_in(package: &Package, wheel: &str) -> Vec<String> {
        let script = "import sys, zipfile; print('\\n'.join(zipfile.ZipFile(sys.argv[1]).namelist()))";
        let listed = succeeds(package.run(peers::python("clients")).args(["-c", script, wheel]));
        let info = format!("windlass-{VERSION}.");
        let names = listed.lines().map(|name| name.trim_start_matches("windlass/").trim_start_matches(&info));
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort_by_key(|name| (name.contains("dist-info"), name.clone()));
        names
    }
}

mod typescript {
    use super::*;

    #[test]
    fn the_typescript_package_is_built_checked_and_passes_its_tests() {
        let package = Package::copied("typescript");
        symlink(peers::client_modules(), package.path().join("node_modules")).expect("a link can be made");
        succeeds(package.run(tsc()).args(["--project", "tsconfig.json"]));
        succeeds(package.run(tsc()).args(["--project", "tsconfig.test.json"]));
        succeeds(package.run(peers::node22()).args(["--test", "--test-reporter=tap", "test/*.test.ts"]));
        package.leaves_nothing();
    }

    #[test]
    fn the_typescript_package_publishes_what_it_exports() {
        let package = Package::copied("typescript");
        symlink(peers::client_modules(), package.path().join("node_modules")).expect("a link can be made");
        succeeds(package.run(tsc()).args(["--project", "tsconfig.json"]));
        let mut npm = package.run(PathBuf::from("npm"));
        npm.args(["pack", "--dry-run", "--json", "--ignore-scripts", "--loglevel=silent"]);
        let packed: Value = serde_json::from_str(&succeeds(&mut npm)).expect("JSON");
        let files = packed[0]["files"].as_array().expect("a list");
        let names: Vec<&str> = files.iter().filter_map(|file| file["path"].as_str()).collect();
        for expected in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "dist/index.js", "dist/protocol.d.ts"]
        {
            assert!(names.contains(&expected), "no {expected} in {names:?}");
        }
        let stray = names.iter().find(|name| name.starts_with("test") || name.contains("node_modules"));
        assert_eq!(stray, None);
        let manifest = fs::read_to_string(package.path().join("package.json")).expect("a manifest");
        let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
        assert_eq!(manifest["version"], VERSION);
        let source = fs::read_to_string(package.path().join("src/version.ts")).expect("a source");
        assert!(source.contains(&format!("\"{VERSION}\"")), "{source}");
        let exports = manifest["exports"].as_object().expect("a table").values();
        for target in exports.flat_map(|export| export.as_object().expect("a table").values()) {
            let path = target.as_str().expect("a path").trim_start_matches("./");
            assert!(names.contains(&path), "no {path} in {names:?}");
        }
    }

    /// npm installs a directory as it is, and does not fetch the packages that are needed to build it.
    #[test]
    fn the_typescript_package_is_built_when_it_is_installed_from_its_folder_or_says_what_to_do() {
        let package = Package::copied("typescript");
        let project = package.scratch.path().join("project");
        fs::create_dir(&project).expect("a folder can be made");
        fs::write(project.join("package.json"), "{}").expect("a manifest can be written");
        let npm = |words: &[&str]| {
            let mut npm = package.run(PathBuf::from("npm"));
            npm.current_dir(&project).args(words).args(["--offline", "--no-audit", "--no-fund"]);
            npm
        };
        let refused = npm(&["install", "../package"]).output().expect("npm runs");
        let complaint = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && complaint.contains("Run `npm install` in "), "{complaint}");
        assert!(complaint.contains("the TypeScript compiler is not installed there"), "{complaint}");

        symlink(peers::client_modules(), package.path().join("node_modules")).expect("a link can be made");
        let import = "import('windlass').then(({ Client }) => console.log(typeof Client.launch))";
        let imported =
            || succeeds(package.run(PathBuf::from("node")).current_dir(&project).args(["-e", import]));
        succeeds(&mut npm(&["install", "../package"]));
        assert_eq!(imported(), "function\n");

        fs::remove_dir_all(package.path().join("dist")).expect("it was built");
        let pack = ["pack", "--silent", "--offline"];
        let packed = succeeds(package.run(PathBuf::from("npm")).args(pack));
        succeeds(&mut npm(&["uninstall", "windlass"]));
        fs::remove_dir_all(package.path().join("dist")).expect("it was built");
        succeeds(&mut npm(&["install", &format!("../package/{}", packed.trim())]));
        assert_eq!(imported(), "function\n");
        package.leaves_nothing();
    }

    fn tsc() -> PathBuf {
        peers::client_modules().join(".bin/tsc")
    }
}

mod protocol {
    use super::*;

    #[test]
    fn what_is_committed_of_the_protocols_is_what_windlass_writes() {
        let scratch = Scratch::new("protocols");
        let home = Home::new("protocols");
        let out = scratch.path().join("made/schema");
        for verb in ["app-server", "exec-server"] {
            for (word, ending) in [("generate-schema", "schema.json"), ("generate-ts", "ts")] {
                let printed = home.seen(&[verb, word]);
                let written = home.seen(&[verb, word, "--out", &out.display().to_string()]);
                assert_eq!((printed.code, written.code), (0, 0), "{printed:?} {written:?}");
                let name = format!("{verb}.{ending}");
                let file = fs::read_to_string(out.join(&name)).expect("it was written");
                assert!(file == printed.stdout, "{name} is not what is printed");
                let committed = fs::read_to_string(root().join("schema").join(&name)).unwrap_or_default();
                assert!(file == committed, "schema/{name} is out of date: run `cargo xtask generate`");
            }
        }
    }

    #[test]
    fn the_app_server_says_what_its_schema_says_and_nothing_else() {
        check_wire("app-server");
    }

    #[test]
    fn the_exec_server_says_what_its_schema_says_and_nothing_else() {
        check_wire("exec-server");
    }

    fn check_wire(verb: &str) {
        let (home, scratch) = (Home::new(verb), Scratch::new(verb));
        let token = survivors::token(verb);
        let mut python = Command::new(peers::python("mcp1"));
        python.arg(root().join("crates/cli/tests/it/packages/wire.py"));
        python.arg(WINDLASS).arg(root().join("schema")).arg(verb);
        python.env("WINDLASS_STATE_DIR", home.path()).env("SCENE", scratch.path());
        succeeds(python.env("WINDLASS_TEST_PACKAGE", &token));
        nothing_survives(&held(&survivors::bearing(&token)), &token);
    }

    /// Checked by another implementation of JSON Schema.
    #[test]
    fn the_schema_tells_messages_from_others() {
        let script = r"
import json, sys
from jsonschema import Draft202012Validator
app = json.load(open(f'{sys.argv[1]}/app-server.schema.json'))
valid = Draft202012Validator(app).is_valid
assert valid({'method': 'initialized'})
assert not valid({'id': 1, 'method': 'no/such', 'params': {}})
spawn = {'command': ['true'], 'processHandle': 'a', 'cwd': '/', 'outputBytesCap': None}
assert valid({'id': 'x', 'method': 'process/spawn', 'params': spawn})
assert not valid({'id': 'x', 'method': 'process/spawn', 'params': {**spawn, 'command': 'true'}})
assert not valid({'id': 'x', 'method': 'process/spawn', 'params': {'command': ['true']}})
";
        let mut python = Command::new(peers::python("mcp1"));
        succeeds(python.args(["-c", script]).arg(root().join("schema")));
    }
}

/// A copy of a package in which it can be built without changes elsewhere, and the token that identifies its processes.
struct Package {
    scratch: Scratch,
    token: String,
}

impl Package {
    fn copied(name: &str) -> Self {
        let scratch = Scratch::new(&format!("package-{name}"));
        copy(&root().join("clients").join(name), &scratch.path().join("package"));
        Self { scratch, token: survivors::token(name) }
    }

    fn path(&self) -> PathBuf {
        self.scratch.path().join("package")
    }

    /// A command in the package's directory that writes nowhere else and fetches nothing.
    fn run(&self, program: PathBuf) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.path());
        command.env("WINDLASS", WINDLASS).env("WINDLASS_TEST_PACKAGE", &self.token).env("SHELL", "/bin/sh");
        command.env("HOME", self.scratch.path()).env("TMPDIR", self.scratch.path());
        command
            .env("PIP_NO_INDEX", "1")
            .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
            .env("PIP_NO_CACHE_DIR", "1");
        command
    }

    fn leaves_nothing(&self) {
        nothing_survives(&held(&survivors::bearing(&self.token)), &self.token);
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Copies a directory, without files that were built or fetched there by hand.
fn copy(from: &Path, to: &Path) {
    const BUILT: [&str; 4] = ["dist", "node_modules", "__pycache__", ".mypy_cache"];
    fs::create_dir_all(to).expect("a folder can be made");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        if BUILT.iter().any(|built| name == *built) {
            continue;
        }
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            fs::copy(&path, to.join(name)).expect("a file can be copied");
        }
    }
}

/// The output of a program, which must exit successfully.
fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let (printed, complaints) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{printed}\n{complaints}", output.status);
    printed
}
