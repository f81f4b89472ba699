//! The decisions of a policy about single paths, for tools that look at files and change them without running a
//! command. They come from the same plan that confines commands, so both agree.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use windlass_engine::sandbox::{Access, HelperProgram, Plan, Policy};
use windlass_engine::{How, OneShot, OneShotBounds};

use crate::toolbox::Toolbox;

/// The paths that may be read and written.
#[derive(Clone, Debug)]
pub struct PathAccess {
    /// The plan that confines a helper within this access.
    plan: Option<Arc<Plan>>,
    places: Option<Places>,
}

/// The decisions of a plan about paths.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Places {
    /// From the root directory down: the last one that covers a path counts.
    rulings: Vec<PlaceRuling>,
    /// Paths that must not be created or removed.
    fixed: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct PlaceRuling {
    path: PathBuf,
    access: Access,
    pinned: bool,
}

impl PathAccess {
    fn of(plan: Option<Arc<Plan>>) -> Self {
        Self { places: plan.as_deref().map(Places::of), plan }
    }

    /// Whether this path, free of links, may be written.
    pub fn may_write(&self, path: &Path) -> bool {
        self.places.as_ref().is_none_or(|places| places.may_write(path))
    }

    /// Whether this path, free of links, may be read.
    pub fn may_read(&self, path: &Path) -> bool {
        let Some(places) = &self.places else { return true };
        places.ruling_at(path).is_none_or(|ruling| ruling.access != Access::Deny)
    }

    /// Whether nothing at all may be written.
    pub fn is_read_only(&self) -> bool {
        let Some(places) = &self.places else { return false };
        places.rulings.iter().all(|ruling| ruling.access != Access::Write)
    }

    /// Whether a sandbox enforces it, so that work within it can and must be done in a confined process.
    pub fn is_enforced(&self) -> bool {
        self.plan.is_some()
    }

    /// The same for another process, which decides as this one does. That process is confined already.
    pub fn to_json(&self) -> Value {
        self.places.as_ref().map_or(Value::Null, Places::to_json)
    }

    /// Reads the value of [`to_json`](Self::to_json); `None` if it is invalid.
    pub fn from_json(value: &Value) -> Option<Self> {
        let places = if value.is_null() { None } else { Some(Places::from_json(value)?) };
        Some(Self { plan: None, places })
    }
}

impl Places {
    fn of(plan: &Plan) -> Self {
        let rulings = plan.rulings.iter().map(|ruling| PlaceRuling {
            path: ruling.path.clone(),
            access: ruling.access,
            pinned: ruling.pinned,
        });
        // Tools that work outside of the sandbox have no supervisor that judges their writes.
        let fixed = plan.must_not_exist.iter().map(|unborn| unborn.path.clone()).chain(plan.judged_paths());
        Self { rulings: rulings.collect(), fixed: fixed.collect() }
    }

    fn ruling_at(&self, path: &Path) -> Option<&PlaceRuling> {
        self.rulings.iter().rev().find(|ruling| path.starts_with(&ruling.path))
    }

    fn may_write(&self, path: &Path) -> bool {
        let writable = self
            .ruling_at(path)
            .is_some_and(|ruling| ruling.access == Access::Write && !(ruling.pinned && ruling.path == path));
        // An existing path only has to stay itself: paths below it may be written. A path that cannot be inspected
        // counts as missing, which protects it.
        let is_missing = |place: &Path| place.symlink_metadata().is_err();
        let is_kept = |place: &Path| path == place || path.starts_with(place) && is_missing(place);
        writable && !self.fixed.iter().any(|fixed| is_kept(fixed))
    }

    fn to_json(&self) -> Value {
        let ruling = |ruling: &PlaceRuling| {
            let access = match ruling.access {
                Access::Deny => "deny",
                Access::Read => "read",
                Access::Write => "write",
            };
            json!({ "path": path_to_json(&ruling.path), "access": access, "pinned": ruling.pinned })
        };
        let rulings: Vec<Value> = self.rulings.iter().map(ruling).collect();
        let fixed: Vec<Value> = self.fixed.iter().map(|path| path_to_json(path)).collect();
        json!({ "rulings": rulings, "fixed": fixed })
    }

    fn from_json(value: &Value) -> Option<Self> {
        let ruling = |value: &Value| {
            let access = match value["access"].as_str()? {
                "deny" => Access::Deny,
                "read" => Access::Read,
                "write" => Access::Write,
                _ => return None,
            };
            Some(PlaceRuling {
                path: path_from_json(&value["path"])?,
                access,
                pinned: value["pinned"].as_bool()?,
            })
        };
        let rulings = value["rulings"].as_array()?.iter().map(ruling).collect::<Option<_>>()?;
        let fixed = value["fixed"].as_array()?.iter().map(path_from_json).collect::<Option<_>>()?;
        Some(Self { rulings, fixed })
    }
}

/// A path in a message between two Windlass processes: text if it is UTF-8, else its bytes.
pub fn path_to_json(path: &Path) -> Value {
    match path.to_str() {
        Some(text) => text.into(),
        None => path.as_os_str().as_bytes().into(),
    }
}

/// Reads the value of [`path_to_json`].
pub fn path_from_json(value: &Value) -> Option<PathBuf> {
    if let Some(text) = value.as_str() {
        return Some(text.into());
    }
    let byte = |byte: &Value| u8::try_from(byte.as_u64()?).ok();
    let bytes = value.as_array()?.iter().map(byte).collect::<Option<Vec<u8>>>()?;
    Some(OsString::from_vec(bytes).into())
}

/// The result of a confined process.
#[derive(Debug)]
pub struct ConfinedReply {
    /// Its standard output.
    pub output: Vec<u8>,
    /// The denials of its sandbox, each with the path and the rule.
    pub denials: Vec<String>,
}

impl Toolbox {
    /// The paths that tools may access under this policy; an error if it cannot be enforced.
    pub fn reach(&self, policy: &Policy) -> Result<PathAccess, String> {
        self.confine(policy).map(PathAccess::of).map_err(|error| error.to_string())
    }

    /// Runs a program within an enforced access: confined like a command, with this standard input. Blocks until it has
    /// ended.
    pub fn run_confined(
        &self,
        reach: &PathAccess,
        helper: &HelperProgram,
        input: &[u8],
    ) -> Result<ConfinedReply, String> {
        let plan = reach.plan.as_ref().ok_or("nothing confines this work")?;
        let (program, arguments) = (helper.program.clone(), helper.arguments.clone());
        let errand = OneShot { program, arguments, input, bounds: OneShotBounds::default() };
        let brought = self.engine().run_errand(plan, errand).map_err(|error| error.to_string())?;
        let denials: Vec<String> = brought.denials.iter().map(ToString::to_string).collect();
        match brought.how {
            How::Exited(0) => Ok(ConfinedReply { output: brought.output, denials }),
            How::Exited(code) => Err(format!("the confined process ended with code {code}")),
            How::Signalled(signal) => Err(format!("signal {} ended the confined process", signal.number())),
            How::Unknown => Err("the confined process ended in an unknown way".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_engine::sandbox::{
        Authority, Base, Confined, Layer, MustNotExist, Network, PolicyContext, Repository, Ruling,
    };

    #[test]
    fn what_must_stay_can_be_written_into_and_what_must_not_come_cannot() {
        let there = std::env::temp_dir();
        let missing = there.join("windlass-nobody-makes-this");
        let unborn =
            |path: &Path| MustNotExist { path: path.into(), directory: "/".into(), origin: String::new() };
        let ruling = Ruling { path: "/".into(), access: Access::Write, origin: String::new(), pinned: false };
        let plan = Plan {
            policy: "test",
            authority: Authority::of(&Confined::new(Base::ReadOnly), &PolicyContext::default()),
            rulings: vec![ruling],
            must_not_exist: vec![unborn(&there), unborn(&missing)],
            sockets: Vec::new(),
            readable: None,
            network: Network::Off,
            layers: Vec::new(),
            differences: Vec::new(),
            remarks: Vec::new(),
            repositories: Vec::new(),
            named_files: Vec::new(),
        };
        let reach = PathAccess::of(Some(Arc::new(plan)));
        assert!(!reach.may_write(&there) && reach.may_write(&there.join("file")));
        assert!(!reach.may_write(&missing) && !reach.may_write(&missing.join("file")));
    }

    #[test]
    fn what_only_the_supervisor_can_judge_cannot_be_written() {
        let ruling =
            Ruling { path: "/w".into(), access: Access::Write, origin: String::new(), pinned: false };
        let plan = Plan {
            policy: "test",
            authority: Authority::of(&Confined::new(Base::ReadOnly), &PolicyContext::default()),
            rulings: vec![ruling],
            must_not_exist: Vec::new(),
            sockets: Vec::new(),
            readable: None,
            network: Network::Off,
            layers: vec![Layer::Supervisor],
            differences: Vec::new(),
            remarks: Vec::new(),
            repositories: vec![Repository { git_dir: "/w/r/.git".into(), work_tree: "/w/r".into() }],
            named_files: Vec::new(),
        };
        let reach = PathAccess::of(Some(Arc::new(plan)));
        for path in ["/w/r/.git/config", "/w/r/.git/config.worktree", "/w/.git", "/w/.git/hooks/x"] {
            assert!(!reach.may_write(Path::new(path)), "{path}");
        }
        assert!(
            reach.may_write(Path::new("/w/r/.git/info/exclude")) && reach.may_write(Path::new("/w/file"))
        );
    }

    #[test]
    fn another_process_judges_by_the_same_places() {
        let odd = PathBuf::from(OsString::from_vec(b"/w/\xff".to_vec()));
        let ruling = |path: &str, access, pinned| PlaceRuling { path: path.into(), access, pinned };
        let rulings = vec![
            ruling("/", Access::Read, false),
            ruling("/w", Access::Write, true),
            PlaceRuling { path: odd.clone(), access: Access::Deny, pinned: false },
        ];
        let reach =
            PathAccess { plan: None, places: Some(Places { rulings, fixed: vec!["/w/.git".into()] }) };
        let other = PathAccess::from_json(&reach.to_json()).expect("it is what was given");
        assert_eq!(other.places, reach.places);
        assert!(!other.may_read(&odd) && !other.may_write(Path::new("/w/.git/config")));
        let open = PathAccess { plan: None, places: None };
        assert!(PathAccess::from_json(&open.to_json()).expect("it is null").may_write(Path::new("/")));
    }
}
