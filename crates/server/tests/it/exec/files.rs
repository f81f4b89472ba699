//! Files and directories, method by method.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use windlass_testkit::base64;

use super::rig::{Bench, Client};

const MISSING: (i64, &str) = (-32004, "No such file or directory (os error 2)");

/// A directory with entries of all kinds.
async fn furnished(name: &str) -> (Bench, Client) {
    let bench = Bench::new(name);
    let at = |name: &str| bench.scratch.path().join(name);
    for folder in ["sub", "with space", ".hidden"] {
        std::fs::create_dir(at(folder)).expect("a folder");
    }
    for (file, text) in [("f.txt", "text\n"), ("sub/inner", "i"), (".hidden/h", "h"), ("é#?%", "")] {
        std::fs::write(at(file), text).expect("a file");
    }
    std::os::unix::fs::symlink("sub", at("link")).expect("a link");
    std::os::unix::fs::symlink("nowhere", at("dangling")).expect("a link");
    let client = bench.client().await;
    (bench, client)
}

fn path(bench: &Bench, name: &str) -> Value {
    json!({ "path": bench.uri(name) })
}

#[tokio::test]
async fn files_are_read_and_written_whole() {
    let (bench, mut client) = furnished("whole").await;
    let read = client.get("fs/readFile", path(&bench, "f.txt")).await;
    assert_eq!(read, json!({ "dataBase64": "dGV4dAo=" }));
    client.refused("fs/readFile", path(&bench, "none"), MISSING).await;
    let folder = format!("path `{}` is not a file", bench.scratch.path().join("sub").display());
    client.refused("fs/readFile", path(&bench, "sub"), (-32600, &folder)).await;
    let write = |name: &str, data: &str| json!({ "path": bench.uri(name), "dataBase64": data });
    assert_eq!(client.get("fs/writeFile", write("new", "AP8=")).await, json!({}));
    assert_eq!(std::fs::read(bench.scratch.path().join("new")).expect("a file"), [0, 255]);
    client.refused("fs/writeFile", write("none/new", ""), MISSING).await;
    client.refused("fs/writeFile", write("sub", ""), (-32603, "Is a directory (os error 21)")).await;
    let text = "fs/writeFile requires valid base64 dataBase64: Invalid symbol 33, offset 0.";
    client.refused("fs/writeFile", write("new", "!"), (-32600, text)).await;
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn pipes_and_devices_are_refused_and_hold_up_nothing() {
    let (bench, mut client) = furnished("fifo").await;
    let fifo = bench.scratch.path().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
    let text = format!("path `{}` is not a file", fifo.display());
    let write = json!({ "path": bench.uri("fifo"), "dataBase64": "AAAA" });
    client.refused("fs/writeFile", write, (-32600, &text)).await;
    client.refused("fs/readFile", path(&bench, "fifo"), (-32600, &text)).await;
    let open = json!({ "path": bench.uri("fifo"), "handleId": "h" });
    client.refused("fs/open", open, (-32600, &text)).await;
    let copy = |from: &str, to: &str| json!({ "sourcePath": bench.uri(from), "destinationPath": bench.uri(to), "recursive": false });
    client.refused("fs/copy", copy("f.txt", "fifo"), (-32600, &text)).await;
    std::os::unix::fs::symlink("fifo", bench.scratch.path().join("to-fifo")).expect("a link");
    let text = format!("path `{}` is not a file", bench.scratch.path().join("to-fifo").display());
    client.refused("fs/copy", copy("f.txt", "to-fifo"), (-32600, &text)).await;
    client.get("process/start", bench.sh("p", "exit 0")).await;
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_file_is_replaced_whole_with_its_permissions() {
    let (bench, mut client) = furnished("replaced").await;
    let at = |name: &str| bench.scratch.path().join(name);
    std::fs::write(at("long"), "much longer than the text").expect("a file");
    std::fs::set_permissions(at("f.txt"), std::fs::Permissions::from_mode(0o750)).expect("permissions");
    let copy =
        json!({ "sourcePath": bench.uri("f.txt"), "destinationPath": bench.uri("long"), "recursive": false });
    assert_eq!(client.get("fs/copy", copy).await, json!({}));
    assert_eq!(std::fs::read(at("long")).expect("a file"), b"text\n");
    assert_eq!(std::fs::metadata(at("long")).expect("a file").permissions().mode() & 0o777, 0o750);
    let write = json!({ "path": bench.uri("long"), "dataBase64": "AA==" });
    assert_eq!(client.get("fs/writeFile", write).await, json!({}));
    assert_eq!(std::fs::read(at("long")).expect("a file"), [0]);
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn metadata_and_canonical_paths_go_through_links() {
    let (bench, mut client) = furnished("links").await;
    let mut check = async |name: &str, kind: (bool, bool, bool)| {
        let found = client.get("fs/getMetadata", path(&bench, name)).await;
        let seen =
            ["isDirectory", "isFile", "isSymlink"].map(|member| found[member].as_bool().expect("a bool"));
        assert_eq!((seen[0], seen[1], seen[2]), kind, "{name}: {found}");
        assert!(found["modifiedAtMs"].as_i64().is_some_and(|at| at > 1_000_000_000_000), "{found}");
    };
    check("f.txt", (false, true, false)).await;
    check("sub", (true, false, false)).await;
    check("link", (true, false, true)).await;
    check("with%20space", (true, false, false)).await;
    check("%C3%A9%23%3F%25", (false, true, false)).await;
    client.refused("fs/getMetadata", path(&bench, "dangling"), MISSING).await;
    let canonical = client.get("fs/canonicalize", path(&bench, "link/inner")).await;
    assert_eq!(canonical, path(&bench, "sub/inner"));
    let canonical = client.get("fs/canonicalize", path(&bench, "%C3%A9%23%3F%25")).await;
    assert_eq!(canonical, path(&bench, "%C3%A9%23%3F%25"));
    client.refused("fs/canonicalize", path(&bench, "none"), MISSING).await;
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn folders_are_listed_and_walked() {
    let (bench, mut client) = furnished("walk").await;
    let listed = client.get("fs/readDirectory", path(&bench, "")).await;
    let names: Vec<&str> = listed["entries"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|entry| entry["fileName"].as_str())
        .collect();
    assert_eq!(names, [".hidden", "dangling", "f.txt", "link", "sub", "with space", "é#?%"]);
    client
        .refused("fs/readDirectory", path(&bench, "f.txt"), (-32603, "Not a directory (os error 20)"))
        .await;
    let options = json!({
        "maxDepth": 6, "maxDirectories": 100, "maxEntries": 100,
        "followDirectorySymlinks": true, "pruneHiddenDirectories": true,
    });
    let mut walk = async |change: Value| {
        let mut options = options.clone();
        for (name, value) in change.as_object().expect("changes") {
            options[name] = value.clone();
        }
        let found = client.get("fs/walk", json!({ "path": bench.uri(""), "options": options })).await;
        let below = bench.uri("");
        let name = |entry: &Value| {
            let uri = entry["path"]
                .as_str()
                .expect("a text")
                .strip_prefix(below.as_str())
                .expect("below")
                .to_owned();
            if entry["kind"] == "directory" { format!("{uri}/") } else { uri }
        };
        let entries: Vec<String> = found["entries"].as_array().expect("a list").iter().map(name).collect();
        (entries.join(" "), found["truncated"] == true)
    };
    let top = ".hidden/ f.txt link/ sub/ with%20space/ %C3%A9%23%3F%25";
    assert_eq!(walk(json!({})).await, (format!("{top} link/inner"), false), "no folder twice");
    let seen = walk(json!({ "followDirectorySymlinks": false, "pruneHiddenDirectories": false })).await;
    let without_links = top.replace(" link/", "");
    assert_eq!(seen, (format!("{without_links} .hidden/h sub/inner"), false));
    assert_eq!(walk(json!({ "maxDepth": 0 })).await, (top.to_owned(), false));
    assert_eq!(walk(json!({ "maxEntries": 3 })).await, (".hidden/ f.txt".to_owned(), true));
    assert_eq!(walk(json!({ "maxDirectories": 1 })).await, (top.to_owned(), true));
    let missing = json!({ "path": bench.uri("none"), "options": options });
    client.refused("fs/walk", missing, MISSING).await;
    let none = (-32600, "filesystem walk limits must be greater than zero");
    for limit in ["maxEntries", "maxDirectories"] {
        let mut options = options.clone();
        options[limit] = json!(0);
        client.refused("fs/walk", json!({ "path": bench.uri(""), "options": options }), none).await;
    }
    let link = client.get("fs/walk", json!({ "path": bench.uri("link"), "options": options })).await;
    assert_eq!(link["entries"].as_array().map(Vec::len), Some(1), "{link}");
    let mut stays = options.clone();
    stays["followDirectorySymlinks"] = json!(false);
    let link = client.get("fs/walk", json!({ "path": bench.uri("link"), "options": stays })).await;
    assert_eq!(link["entries"].as_array().map(Vec::len), Some(0), "{link}");
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn folders_are_made_and_removed_as_far_as_was_asked() {
    let (bench, mut client) = furnished("make").await;
    let to = |name: &str, more: Value| {
        let mut params = path(&bench, name);
        params.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        params
    };
    assert_eq!(client.get("fs/createDirectory", to("sub", json!({}))).await, json!({}));
    let exists = (-32603, "File exists (os error 17)");
    client.refused("fs/createDirectory", to("sub", json!({ "recursive": false })), exists).await;
    client.refused("fs/createDirectory", to("q/r", json!({ "recursive": false })), MISSING).await;
    client.get("fs/createDirectory", to("q/r", json!({}))).await;
    client.get("fs/remove", to("none", json!({}))).await;
    client.refused("fs/remove", to("none", json!({ "force": false })), MISSING).await;
    let full = (-32603, "Directory not empty (os error 39)");
    client.refused("fs/remove", to("q", json!({ "recursive": false })), full).await;
    client.get("fs/remove", to("q", json!({}))).await;
    client.get("fs/remove", to("link", json!({ "recursive": false, "force": false }))).await;
    assert!(bench.scratch.path().join("sub/inner").exists(), "the link went, not what it leads to");
    assert_eq!(bench.scratch.names(), [".hidden", "dangling", "f.txt", "sub", "with space", "é#?%"]);
    client.vanish().await;
    bench.end().await;
}

/// Regression test: with a slash at its end a link means the directory to which it leads, which was emptied instead of
/// the link removed.
#[tokio::test]
async fn a_link_with_a_slash_behind_it_is_still_a_link() {
    let (bench, mut client) = furnished("slash").await;
    for name in ["link/", "link/.", "sub/../link//"] {
        let found = client.get("fs/getMetadata", path(&bench, name)).await;
        assert_eq!(found["isSymlink"], true, "{name}: {found}");
    }
    let read = client.get("fs/readFile", path(&bench, "f.txt/")).await;
    assert_eq!(read, json!({ "dataBase64": "dGV4dAo=" }));
    client.get("fs/remove", path(&bench, "link/")).await;
    assert!(bench.scratch.path().join("sub/inner").exists(), "the link went, not what it leads to");
    assert!(!bench.scratch.path().join("link").is_symlink());
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_folder_is_copied_without_its_pipes() {
    let (bench, mut client) = furnished("pipes").await;
    let at = |name: &str| bench.scratch.path().join(name);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        at("sub/a-pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .expect("a pipe");
    let copy =
        json!({ "sourcePath": bench.uri("sub"), "destinationPath": bench.uri("copy"), "recursive": true });
    assert_eq!(client.get("fs/copy", copy).await, json!({}));
    assert_eq!(std::fs::read(at("copy/inner")).expect("a file"), b"i");
    assert!(!at("copy/a-pipe").exists());
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn files_links_and_folders_are_copied() {
    let (bench, mut client) = furnished("copy").await;
    let copy = |from: &str, to: &str, recursive: bool| json!({ "sourcePath": bench.uri(from), "destinationPath": bench.uri(to), "recursive": recursive });
    client.get("fs/copy", copy("f.txt", "f.txt", false)).await;
    let kept = client.get("fs/readFile", path(&bench, "f.txt")).await;
    assert_ne!(kept["dataBase64"], "", "a file that is copied onto itself stays as it is");
    client.get("fs/copy", copy("f.txt", "g.txt", false)).await;
    let text = "fs/copy requires recursive: true when sourcePath is a directory";
    client.refused("fs/copy", copy("sub", "copy", false), (-32600, text)).await;
    let text = "fs/copy cannot copy a directory to itself or one of its descendants";
    client.refused("fs/copy", copy("sub", "sub/copy", true), (-32600, text)).await;
    client.refused("fs/copy", copy("sub", "link/new/copy", true), (-32600, text)).await;
    for _ in 0..2 {
        client.get("fs/copy", copy("sub", "copy", true)).await;
    }
    client.get("fs/copy", copy("link", "link2", false)).await;
    let at = |name: &str| bench.scratch.path().join(name);
    assert_eq!(std::fs::read(at("g.txt")).expect("a file"), b"text\n");
    assert_eq!(std::fs::read(at("copy/inner")).expect("a file"), b"i");
    assert_eq!(std::fs::read_link(at("link2")).expect("a link"), std::path::Path::new("sub"));
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn large_files_are_read_in_blocks() {
    let (bench, mut client) = furnished("blocks").await;
    let open = |handle: &str, name: &str| json!({ "handleId": handle, "path": bench.uri(name) });
    let block =
        |handle: &str, offset: u64, len: usize| json!({ "handleId": handle, "offset": offset, "len": len });
    assert_eq!(client.get("fs/open", open("h", "f.txt")).await, json!({ "handleId": "h" }));
    client.refused("fs/open", open("h", "f.txt"), (-32600, "file handle `h` already exists")).await;
    let first = client.get("fs/readBlock", block("h", 0, 3)).await;
    assert_eq!(first, json!({ "chunk": base64::encode(b"tex"), "eof": false }));
    let last = client.get("fs/readBlock", block("h", 2, 300)).await;
    assert_eq!(last, json!({ "chunk": base64::encode(b"xt\n"), "eof": true }));
    let beyond = client.get("fs/readBlock", block("h", 2000, 1)).await;
    assert_eq!(beyond, json!({ "chunk": "", "eof": true }));
    let length = (-32600, "file read block length must be between 1 and 1048576");
    client.refused("fs/readBlock", block("h", 0, 0), length).await;
    client.refused("fs/readBlock", block("h", 0, 1_048_577), length).await;
    client.refused("fs/readBlock", block("none", 0, 1), (-32004, "unknown file handle `none`")).await;
    for _ in 0..2 {
        assert_eq!(client.get("fs/close", json!({ "handleId": "h" })).await, json!({}));
    }
    let name = "x".repeat(33);
    client
        .refused("fs/open", open(&name, "f.txt"), (-32600, "file handle ID must not exceed 32 bytes"))
        .await;
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_process_finds_the_files_that_were_asked_for_before_it() {
    let bench = Bench::new("order");
    let mut client = bench.client().await;
    for number in 0..20 {
        let (name, id) = (format!("f{number}"), format!("p{number}"));
        client.ask("fs/writeFile", json!({ "path": bench.uri(&name), "dataBase64": "aGk=" })).await;
        client.ask("process/start", bench.argv(&id, ["cat", &name])).await;
        assert_eq!(client.story(&id).await.text(), "hi");
    }
    client.vanish().await;
    bench.end().await;
}
