//! Compilers, language runners, package managers, media tools and clients of clusters: a rule for the name covers their
//! ordinary use, and not the options by which they run another program, load a plugin or write elsewhere.

use super::{case, check};

#[test]
fn a_compiler_runs_no_other_program_by_an_option() {
    check(&[
        case(
            "rustc",
            &["rustc a.rs", "rustc -O -C opt-level=3 --edition 2021 a.rs", "rustc --version"],
            &[
                "rustc -C linker=./x a.rs",
                "rustc -Clinker=./x a.rs",
                "rustc --codegen=linker=./x a.rs",
                "rustc -C link-arg=-fuse-ld=./x a.rs",
                "rustc -Z codegen-backend=./x a.rs",
                "rustc --emit=dep-info=M a.rs",
                "rustc -o M a.rs",
                "rustc --surprise a.rs",
                "rustc @x",
            ],
        ),
        case("rustdoc", &["rustdoc a.rs"], &["rustdoc --test --test-runtool ./x a.rs", "rustdoc -o M a.rs"]),
        case("gcc-12", &["gcc-12 -O2 -c a.c"], &["gcc-12 -wrapper ./x a.c", "gcc-12 -fplugin=./x a.c"]),
        case("aarch64-linux-gnu-gcc", &["aarch64-linux-gnu-gcc -c a.c"], &["aarch64-linux-gnu-gcc -B. a.c"]),
        case("gfortran", &["gfortran -O2 -c a.f"], &["gfortran -wrapper ./x a.f"]),
        case(
            "ghc",
            &["ghc -O2 a.hs", "ghc --version"],
            &[
                "ghc -e x",
                "ghc -F -pgmF ./x a.hs",
                "ghc -pgml ./x a.hs",
                "ghc -fplugin=X a.hs",
                "ghc --surprise a.hs",
            ],
        ),
        case(
            "javac",
            &["javac X.java"],
            &["javac --processor-path . X.java", "javac -Xplugin:X X.java", "javac -J-XX:OnError=./x X.java"],
        ),
        case(
            "scalac",
            &["scalac a.scala"],
            &["scalac -Xplugin:x a.scala", "scalac -J-XX:OnError=./x a.scala"],
        ),
        case("kotlinc", &["kotlinc a.kt"], &["kotlinc -Xplugin=x a.kt", "kotlinc -script x.kts"]),
        case("ocamlfind", &["ocamlfind list"], &["ocamlfind ocamlopt -pp ./x a.ml", "ocamlfind x/y"]),
        case("ocamlopt", &["ocamlopt a.ml"], &["ocamlopt -ppx ./x a.ml", "ocamlopt -cc ./x a.ml"]),
        case("swiftc", &["swiftc a.swift"], &["swiftc -use-ld=./x a.swift", "swiftc -Xcc -wrapper a.swift"]),
        case("nvcc", &["nvcc a.cu"], &["nvcc -ccbin ./x a.cu", "nvcc --compiler-bindir ./x a.cu"]),
    ]);
}

#[test]
fn a_language_runner_runs_no_code_of_its_arguments() {
    check(&[
        case("tsx", &["tsx a.ts"], &["tsx -e x", "tsx --eval x", "tsx --import ./x a.ts", "tsx"]),
        case("ts-node", &["ts-node a.ts"], &["ts-node -e x", "ts-node -pe x", "ts-node -r ./x a.ts"]),
        case(
            "deno",
            &["deno check a.ts", "deno lint"],
            &["deno eval x", "deno run a.ts", "deno https://x/y.ts"],
        ),
        case("bun", &["bun install"], &["bun -e x", "bun --eval=x", "bun -r ./x y", "bun x y", "bun repl"]),
        case("swift", &["swift build"], &["swift -e x", "swift run x", "swift package plugin x", "swift"]),
        case("raku", &["raku a.raku"], &["raku -e x", "raku"]),
        case("jython", &["jython a.py"], &["jython -c x"]),
        case("mongosh", &["mongosh --version"], &["mongosh --eval x", "mongosh"]),
        case("swipl", &["swipl a.pl"], &["swipl -g x a.pl"]),
        case("rvim", &["rvim x"], &["rvim -c x y"]),
    ]);
}

#[test]
fn a_package_manager_runs_no_other_program_by_a_subcommand() {
    check(&[
        case(
            "gem",
            &["gem list", "gem search x"],
            &["gem exec x", "gem install x", "gem list --config-file x"],
        ),
        case(
            "mvn",
            &["mvn -q test", "mvn clean package -DskipTests"],
            &[
                "mvn exec:exec -Dexec.executable=./x",
                "mvn clean exec:exec",
                "mvn -Dexec.executable=./x test",
                "mvn -s x test",
                "mvn -l M test",
                "mvn --surprise test",
            ],
        ),
        case(
            "gradle",
            &["gradle build --offline"],
            &["gradle -I x build", "gradle --init-script=x build", "gradle -Dx=y build"],
        ),
        case(
            "composer",
            &["composer show"],
            &["composer exec x", "composer global require x", "composer -d M show"],
        ),
        case("bundle", &["bundle list"], &["bundle exec x", "bundle open x", "bundle list --gemfile=x"]),
        case(
            "uv",
            &["uv tree", "uv pip list"],
            &["uv run x", "uv sync", "uv tree --directory M", "uv pip install x"],
        ),
        case("poetry", &["poetry show"], &["poetry run x", "poetry -C M show", "poetry x"]),
        case("conda", &["conda list"], &["conda run x", "conda install x"]),
        case("brew", &["brew list"], &["brew sh", "brew ruby -e x", "brew install x"]),
        case("pipx", &["pipx list"], &["pipx run x", "pipx install x"]),
        case(
            "yarn",
            &["yarn install"],
            &["yarn exec ./x", "yarn dlx x", "yarn x", "yarn config set yarnPath ./x"],
        ),
        case(
            "rpmbuild",
            &["rpmbuild --version"],
            &["rpmbuild --eval '%(./x)'", "rpmbuild -E '%(./x)'", "rpmbuild -ba x.spec"],
        ),
        case(
            "meson",
            &["meson test -v"],
            &["meson test --wrapper ./x", "meson test --wrap=./x", "meson setup M"],
        ),
        case(
            "bazel",
            &["bazel build x"],
            &["bazel run x", "bazel build --workspace_status_command=./x y", "bazel --bazelrc=x build y"],
        ),
        case("ant", &["ant test"], &["ant -f x", "ant -lib . test", "ant -logger X"]),
        case("just", &["just build"], &["just -f x", "just --edit", "just --command x"]),
        case(
            "pytest",
            &["pytest -x -q tests", "pytest -p no:cacheprovider"],
            &["pytest -p x", "pytest -c x", "pytest --junitxml=M", "pytest --surprise"],
        ),
    ]);
}

#[test]
fn a_media_or_network_tool_runs_no_other_program_by_an_option() {
    check(&[
        case(
            "yt-dlp",
            &["yt-dlp -F URL", "yt-dlp -f best URL"],
            &[
                "yt-dlp --exec ./x URL",
                "yt-dlp --exe ./x URL",
                "yt-dlp --netrc-cmd=./x URL",
                "yt-dlp -o M URL",
                "yt-dlp --surprise URL",
            ],
        ),
        case(
            "rclone",
            &["rclone ls a:", "rclone lsf --max-depth 1 a:"],
            &[
                "rclone --sftp-ssh ./x ls a:",
                "rclone ls --password-command=./x a:",
                "rclone ls ':sftp,ssh=./x:'",
                "rclone copy a: M",
                "rclone ls --surprise a:",
            ],
        ),
        case(
            "aria2c",
            &["aria2c URL"],
            &["aria2c --on-download-complete=./x URL", "aria2c -d M URL", "aria2c --conf-path=x URL"],
        ),
        case("wget2", &["wget2 URL"], &["wget2 --use-askpass=./x URL", "wget2 -O M URL"]),
        case("nc.traditional", &["nc.traditional host 1"], &["nc.traditional -e ./x host 1"]),
        case("convert", &["convert a.png b.png"], &["convert a.png '|./x'", "convert msl:x b.png"]),
        case(
            "identify",
            &["identify a.png"],
            &["identify '|./x'", "identify MSL:x", "identify -write M a.png"],
        ),
        case(
            "gs",
            &["gs -q -dBATCH x.ps"],
            &["gs -o M x.ps", "gs -sOutputFile=%pipe%./x x.ps", "gs -c x", "gs -dNOSAFER x.ps"],
        ),
        case(
            "exiftool",
            &["exiftool a.jpg"],
            &["exiftool -Comment=x a.jpg", "exiftool -if x a.jpg", "exiftool -config x a.jpg"],
        ),
        case("ugrep", &["ugrep -r x ."], &["ugrep --filter=./x y", "ugrep --pager=./x y"]),
    ]);
}

#[test]
fn a_client_of_a_cluster_or_a_repository_runs_no_other_program() {
    check(&[
        case(
            "helm",
            &["helm list -A", "helm template x"],
            &["helm template --post-renderer ./x y", "helm install x", "helm plugin install x"],
        ),
        case(
            "kustomize",
            &["kustomize build ."],
            &["kustomize build --enable-exec .", "kustomize build -o M ."],
        ),
        case(
            "terraform",
            &["terraform validate", "terraform show"],
            &["terraform apply", "terraform -chdir=M show", "terraform x"],
        ),
        case("vagrant", &["vagrant status"], &["vagrant ssh -c x", "vagrant up", "vagrant x"]),
        case("packer", &["packer version"], &["packer build x"]),
        case("ansible-playbook", &["ansible-playbook --version"], &["ansible-playbook x.yml"]),
        case(
            "qemu-system-x86_64",
            &["qemu-system-x86_64 --version"],
            &["qemu-system-x86_64 -netdev tap,script=./x"],
        ),
        case(
            "jj",
            &["jj log", "jj diff --git"],
            &["jj util exec -- ./x", "jj --config x=y log", "jj diff --tool ./x", "jj x"],
        ),
        case(
            "fossil",
            &["fossil status"],
            &["fossil shell", "fossil diff --command ./x", "fossil settings editor ./x"],
        ),
        case(
            "hg",
            &["hg log -l 3", "hg status"],
            &["hg extdiff -p ./x", "hg x", "hg bisect -c ./x", "hg pull --ssh ./x", "hg --cwd M log"],
        ),
        case("svn", &["svn log -l 3", "svn status"], &["svn x", "svn export x M"]),
        case("duckdb", &["duckdb --version"], &["duckdb -c '.shell x'", "duckdb x '.shell y'"]),
    ]);
}
