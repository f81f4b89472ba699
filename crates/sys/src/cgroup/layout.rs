//! The groups of this process: parses two small files of the kernel into one map. Pure, except for the reading.

use super::{Controller, Version};
use crate::mark;
use std::fs;
use std::path::{Path, PathBuf};

/// The groups this process is in, one for each hierarchy that is mounted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hierarchies {
    pub(super) places: Vec<OwnGroup>,
    /// Whether a sandbox around this process refuses every change of the groups.
    pub(super) confined: bool,
}

/// Our own group in one hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnGroup {
    pub(super) version: Version,
    pub(super) directory: PathBuf,
    /// The controllers of a hierarchy of version 1; one of version 2 says in a file which it has.
    named: Vec<String>,
}

impl Hierarchies {
    /// The groups of this process; empty where the kernel has none, or no hierarchy is mounted.
    pub fn of_this_process() -> Self {
        let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
        let confined = mark::in_sandbox();
        Self { confined, ..Self::from_text(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo")) }
    }

    /// The same, from the text of `/proc/PID/cgroup` and `/proc/PID/mountinfo`.
    pub fn from_text(groups: &str, mounts: &str) -> Self {
        let places = groups.lines().filter_map(Group::from_line);
        Self { places: places.filter_map(|group| group.place(mounts)).collect(), confined: false }
    }

    /// The group of version 2 alone, for a tree that is not mounted where the kernel says.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        let place = OwnGroup { version: Version::V2, directory: directory.into(), named: Vec::new() };
        Self { places: vec![place], confined: false }
    }

    /// The group in which a controller can be used: version 2 first.
    pub(super) fn with(&self, controller: Controller) -> Option<&OwnGroup> {
        let versions = [Version::V2, Version::V1];
        let having =
            |version| self.places.iter().find(move |place| place.version == version && place.has(controller));
        versions.into_iter().find_map(having)
    }
}

impl OwnGroup {
    fn has(&self, controller: Controller) -> bool {
        let name = controller.name(self.version);
        match self.version {
            Version::V1 => self.named.iter().any(|named| named == name),
            // CPU time is counted for every group, whatever controllers there are.
            Version::V2 if controller == Controller::Cpu => self.directory.join("cpu.stat").exists(),
            Version::V2 => words_of(&self.directory.join("cgroup.controllers")).any(|word| word == name),
        }
    }
}

/// The words in a small file; none, if it cannot be read.
pub(super) fn words_of(file: &Path) -> impl Iterator<Item = String> + use<> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect::<Vec<_>>().into_iter()
}

/// A line of `/proc/PID/cgroup`: `5:cpu,cpuacct:/a/b`, or `0::/a/b` for version 2.
struct Group<'a> {
    controllers: Vec<&'a str>,
    path: &'a Path,
}

impl<'a> Group<'a> {
    fn from_line(line: &'a str) -> Option<Self> {
        let (number, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let unified = number == "0" && controllers.is_empty();
        let controllers = if unified {
            Vec::new()
        } else {
            controllers.split(',').filter(|word| !word.is_empty()).collect()
        };
        (unified || !controllers.is_empty()).then_some(Self { controllers, path: Path::new(path) })
    }

    fn place(&self, mounts: &str) -> Option<OwnGroup> {
        let mount = mounts.lines().filter_map(Mount::from_line).find(|mount| mount.carries(self))?;
        // A container may see only a part of the hierarchy, and be in a group outside of it.
        let below = self.path.strip_prefix(&mount.root).ok()?;
        Some(OwnGroup {
            version: if self.controllers.is_empty() { Version::V2 } else { Version::V1 },
            directory: mount.point.join(below),
            named: self.controllers.iter().map(|name| (*name).to_owned()).collect(),
        })
    }
}

/// A line of `/proc/PID/mountinfo` that mounts a hierarchy.
struct Mount<'a> {
    kind: &'a str,
    options: &'a str,
    root: PathBuf,
    point: PathBuf,
}

impl<'a> Mount<'a> {
    fn from_line(line: &'a str) -> Option<Self> {
        let (mount, system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let mut fields = system.split(' ');
        let (kind, _source, options) = (fields.next()?, fields.next()?, fields.next()?);
        let is_group = kind == "cgroup" || kind == "cgroup2";
        is_group.then(|| Self { kind, options, root: unescaped(root), point: unescaped(point) })
    }

    fn carries(&self, group: &Group<'_>) -> bool {
        match group.controllers.first() {
            None => self.kind == "cgroup2",
            Some(first) => self.kind == "cgroup" && self.options.split(',').any(|option| option == *first),
        }
    }
}

/// Spaces and the like are written as three octal digits after a backslash.
fn unescaped(text: &str) -> PathBuf {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let code = after.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => plain.push(char::from(code)),
            None => plain.push('\\'),
        }
        rest = if code.is_some() { &after[3..] } else { after };
    }
    plain.push_str(rest);
    PathBuf::from(plain)
}

#[cfg(test)]
mod tests {
    use super::{Controller, Hierarchies, Version};
    use std::path::Path;

    const MIXED: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";

    fn check(groups: &str, mounts: &str, controller: Controller, expected: Option<(Version, &str)>) {
        let hierarchies = Hierarchies::from_text(groups, mounts);
        let found = hierarchies.with(controller).map(|place| (place.version, place.directory.as_path()));
        assert_eq!(found, expected.map(|(version, path)| (version, Path::new(path))), "{groups}");
    }

    #[test]
    fn a_controller_is_found_where_it_is_mounted() {
        let groups = "4:memory:/a/b\n1:cpu,cpuacct:/\n0::/nowhere\n";
        check(groups, MIXED, Controller::Memory, Some((Version::V1, "/sys/fs/cgroup/memory/a/b")));
        check(groups, MIXED, Controller::Cpu, Some((Version::V1, "/sys/fs/cgroup/cpu,cpuacct")));
        check(groups, MIXED, Controller::Pids, None);
        check("", MIXED, Controller::Memory, None);
        check(groups, "", Controller::Memory, None);
        check("nonsense\n0:\n::\n", "x - y\n", Controller::Memory, None);
    }

    #[test]
    fn a_part_of_a_hierarchy_is_mounted_in_a_container() {
        let mounts = "9 8 0:1 /docker/abc /my\\040groups ro - cgroup cgroup rw,memory\n";
        let inside = Some((Version::V1, "/my groups/x"));
        check("4:memory:/docker/abc/x\n", mounts, Controller::Memory, inside);
        check("4:memory:/elsewhere\n", mounts, Controller::Memory, None);
    }
}
