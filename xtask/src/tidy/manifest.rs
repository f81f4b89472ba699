//! Reads the dependencies that a `Cargo.toml` names, with their lines and kinds.
//!
//! The parser knows the style in which manifests are written here, one dependency a line or a table, not all of TOML.

/// The part of the workspace that a dependency is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The crate itself, or its build script.
    Build,
    /// Its tests.
    Dev,
    /// Every crate that inherits it from the workspace.
    Workspace,
}

/// A dependency and the line that names it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dependency<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: Kind,
    pub(crate) line: usize,
    /// The line as it stands.
    pub(crate) entry: &'a str,
}

/// The dependencies of a manifest, in its order.
pub(crate) fn dependencies(manifest: &str) -> Vec<Dependency<'_>> {
    let mut section = Section::Other;
    let mut found = Vec::new();
    for (index, entry) in manifest.lines().enumerate() {
        let line = index + 1;
        if let Some(header) = entry.trim().strip_prefix('[') {
            section = Section::of(header);
            if let Section::One(name, kind) = section {
                found.push(Dependency { name, kind, line, entry });
            }
        } else if let (Section::Many(kind), Some(key)) = (&section, key(entry)) {
            found.push(Dependency { name: renamed(entry).unwrap_or(key), kind: *kind, line, entry });
        }
    }
    found
}

/// The meaning of the lines after a header.
enum Section<'a> {
    /// A dependency each.
    Many(Kind),
    /// The details of this one.
    One(&'a str, Kind),
    /// Something else.
    Other,
}

impl<'a> Section<'a> {
    /// Reads a header from behind its opening bracket, such as `target.'cfg(unix)'.dev-dependencies]`.
    fn of(header: &'a str) -> Self {
        let header = header.split(']').next().unwrap_or_default();
        let (before, last) = header.rsplit_once('.').unwrap_or(("", header));
        if let Some(kind) = kind(before, last) {
            return Self::Many(kind);
        }
        let (further, table) = before.rsplit_once('.').unwrap_or(("", before));
        kind(further, table).map_or(Self::Other, |kind| Self::One(last, kind))
    }
}

fn kind(before: &str, table: &str) -> Option<Kind> {
    match table {
        "dependencies" if before == "workspace" => Some(Kind::Workspace),
        "dependencies" | "build-dependencies" => Some(Kind::Build),
        "dev-dependencies" => Some(Kind::Dev),
        _ => None,
    }
}

/// The name before `=` or `.workspace`; nothing for comments and the inner lines of a long entry.
fn key(entry: &str) -> Option<&str> {
    let end = entry.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_')?;
    let (key, rest) = entry.split_at(end);
    let is_entry = rest.starts_with('.') || rest.trim_start().starts_with('=');
    (is_entry && !key.is_empty()).then_some(key)
}

/// The real name in `alias = { package = "name" }`.
fn renamed(entry: &str) -> Option<&str> {
    let (_, after) = entry.split_once("package = \"")?;
    after.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(manifest: &str, expected: &[(&str, Kind, usize)]) {
        let found: Vec<_> = dependencies(manifest).iter().map(|d| (d.name, d.kind, d.line)).collect();
        assert_eq!(found, expected, "{manifest}");
    }

    #[test]
    fn dependencies_are_found_in_every_kind_of_table() {
        check(
            "[package]\nname = \"x\"\n[dependencies]\na.workspace = true\nb = \"1\"\n[dev-dependencies]\nc = { path = \"c\" }\n",
            &[("a", Kind::Build, 4), ("b", Kind::Build, 5), ("c", Kind::Dev, 7)],
        );
        check("[build-dependencies]\na = \"1\"\n", &[("a", Kind::Build, 2)]);
        check("[target.'cfg(unix)'.dependencies]\na = \"1\"\n", &[("a", Kind::Build, 2)]);
        check("[workspace.dependencies]\na = \"1\" # why\n", &[("a", Kind::Workspace, 2)]);
        check("[dependencies.a]\nversion = \"1\"\nfeatures = []\n", &[("a", Kind::Build, 1)]);
    }

    #[test]
    fn inner_lines_and_other_tables_are_passed_over() {
        check("[dependencies]\na = { features = [\n    \"b\",\n] }\n# c = \"1\"\n", &[("a", Kind::Build, 2)]);
        check("[features]\ndefault = []\n[[bin]]\nname = \"x\"\n", &[]);
    }

    #[test]
    fn a_renamed_dependency_is_known_by_its_real_name() {
        check(
            "[dependencies]\nother = { package = \"windlass-sys\", path = \"..\" }\n",
            &[("windlass-sys", Kind::Build, 2)],
        );
    }
}
