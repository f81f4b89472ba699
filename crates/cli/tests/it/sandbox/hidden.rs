//! Files that a pattern of `--deny-read` hides.

use super::workspaces::both;

const MADE: &str = "mkdir -p deep/er; echo canary-one > id.pem; echo canary-two > deep/er/id.key; echo seen > deep/other.txt";
const READ: &str = "cat deep/other.txt; cat id.pem deep/er/id.key; cp deep/er/id.key copy; cat copy; \
                    ln deep/er/id.key hard; cat hard; head -n 5 < id.pem; true";

#[test]
fn a_pattern_with_alternatives_hides_every_file_that_fits_it() {
    both("hidden", |scene, layers| {
        scene.plainly(MADE);
        let open = scene.confined("", &["--sandbox-layers", layers], "cat id.pem deep/er/id.key");
        let said = String::from_utf8_lossy(&open.stdout);
        assert!(said.contains("canary-one\ncanary-two\n"), "they can be read without the rule: {open:?}");
        let words = ["--sandbox-layers", layers, "--deny-read", "**/*.{pem,key}"];
        let output = scene.confined("", &words, &format!("set +e; {READ}"));
        let said =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(said.contains("seen\n"), "{layers}: {said}");
        assert!(!said.contains("canary"), "{layers}: {said}");
        assert!(said.contains("the sandbox refused: read"), "{layers}: {said}");
    });
}

#[test]
fn a_pattern_that_cannot_match_is_an_error_and_nothing_runs() {
    both("hidden-unmatched", |scene, layers| {
        for (pattern, why) in [
            ("**/*.{pem,key", "unclosed alternate group"),
            ("{a/b,c}/*.key", "braces cannot hold a `/`"),
            ("**/[z-a].key", "invalid range"),
            ("*/../*.key", "`..` can only stand at the beginning"),
            ("", "it is empty"),
        ] {
            let words = ["--sandbox-layers", layers, "--deny-read", pattern];
            let output = scene.confined("", &words, "echo ran");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success() && output.stdout.is_empty(), "{layers} {pattern}: {output:?}");
            assert!(said.contains(why), "{layers} {pattern}: {said}");
        }
    });
}
