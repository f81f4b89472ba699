//! Detects by trying what this machine can enforce, and derives from that how it can carry out a policy.

use crate::plan::{Layer, Plan, PlanError, Ruling};
use crate::policy::{Access, Confined, Network};
use crate::remedies::Remedies;
use windlass_sys::lockdown::landlock::Version;

/// The means of confinement that a machine offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Namespaces with a tree of files of their own; otherwise, why there are none.
    pub namespaces: Result<(), String>,
    /// The version of Landlock's interface; 0: none.
    pub landlock: u32,
    /// Whether system calls can be filtered.
    pub filter: bool,
    /// Whether a supervisor can decide about system calls.
    pub supervisor: bool,
    /// Whether this process is confined by another runtime, whose sandbox allows no second one inside it.
    pub confined: bool,
}

impl Machine {
    /// Detects the abilities of this machine. The helper tries namespaces; the kernel reports the rest.
    pub(crate) fn with_namespaces(namespaces: Result<(), String>) -> Self {
        Self {
            namespaces,
            landlock: Version::offered().0,
            filter: windlass_sys::probe::has_filters(),
            supervisor: windlass_sys::probe::has_filter_listeners(),
            confined: windlass_sys::mark::in_sandbox(),
        }
    }

    /// Whether the policy can be enforced at all.
    pub(crate) fn check(&self, confined: &Confined, remedies: &Remedies) -> Result<(), PlanError> {
        let missing = |need: &str, missing: String, remedy: String| {
            Err(PlanError::Missing { need: need.to_owned(), missing, remedy })
        };
        let no_sandbox = &remedies.no_sandbox;
        let without_namespaces = || {
            format!(
                "{NAMESPACES}, use a kernel from 5.19 on with Landlock switched on, or, where another \
                     sandbox is around Windlass, {no_sandbox}"
            )
        };
        if self.confined {
            return Err(PlanError::Nested { policy: confined.base.name(), remedy: no_sandbox.clone() });
        }
        if !self.filter {
            return missing(
                confined.base.name(),
                "system call filters (seccomp)".to_owned(),
                FILTER_REMEDY.to_owned(),
            );
        }
        let Err(why) = &self.namespaces else { return Ok(()) };
        if self.landlock < LEAST_LANDLOCK {
            let said = format!("namespaces ({why}) or Landlock 2 (found: {})", self.landlock);
            return missing(confined.base.name(), said, without_namespaces());
        }
        if !self.supervisor {
            let said =
                format!("namespaces ({why}) or a supervisor of system calls (seccomp user notification)");
            return missing("protecting .git and settings", said, without_namespaces());
        }
        match confined.network {
            Network::Loopback | Network::Hosts(_) => {
                let need = format!("network {}", confined.network.name());
                missing(
                    &need,
                    format!("a network namespace ({why})"),
                    format!("{NAMESPACES}, or {}", remedies.other_network),
                )
            }
            Network::Off | Network::On => Ok(()),
        }
    }

    pub(crate) fn layers(&self, network: &Network) -> Vec<Layer> {
        let mut layers = Vec::new();
        if self.namespaces.is_ok() {
            layers.push(Layer::Namespaces);
            if *network != Network::On {
                layers.push(Layer::Network);
            }
        }
        if self.landlock >= LEAST_LANDLOCK {
            layers.push(Layer::Landlock(self.landlock));
        }
        layers.push(Layer::Filter);
        if self.supervisor {
            layers.push(Layer::Supervisor);
        }
        layers
    }

    /// A sentence for the user that says that namespaces are missing, and why.
    pub(crate) fn fallback(&self) -> Option<String> {
        let why = self.namespaces.as_ref().err()?;
        Some(format!(
            "this sandbox works without namespaces ({why}); `windlass sandbox explain` says what is weaker"
        ))
    }

    /// The parts of the policy that are not fully enforced, in sentences.
    pub(crate) fn differences(&self, plan: &Plan) -> Vec<String> {
        let mut said = Vec::new();
        let Err(why) = &self.namespaces else {
            if !self.supervisor && !plan.must_not_exist.is_empty() {
                said.push(
                    "this kernel has no seccomp user notification: commands can create protected names that do not exist yet, and \
                     denials are not reported"
                        .to_owned(),
                );
            }
            said.extend(self.reached_sockets(plan));
            return said;
        };
        said.push(format!(
            "no namespaces ({why}): commands see processes outside, but cannot signal or trace them"
        ));
        said.push(
            "only the supervisor, and no mount, protects modes, owners and times of files outside, protected paths inside \
             writable places, and unix sockets of programs outside"
                .to_owned(),
        );
        if plan.rulings.iter().any(Ruling::hides_content) {
            said.push("files that are created later beside a denied path cannot be read either".to_owned());
        }
        if self.landlock < LANDLOCK_FOR_SCOPES {
            said.push(
                "commands can signal other processes of the same user (Landlock 6 would prevent it)"
                    .to_owned(),
            );
        }
        said.push(
            "/dev/shm, the list of listening sockets of this machine and the user's limit of inotify watches are shared with \
             programs outside; commands can change files in /dev/shm that were made since this windlass was started"
                .to_owned(),
        );
        said.push("System V shared memory and POSIX message queues cannot be used".to_owned());
        said
    }

    /// The unix sockets of programs outside that namespaces do not hide: abstract names belong to a network namespace,
    /// and a path can be bound after the tree of files was built.
    fn reached_sockets(&self, plan: &Plan) -> Vec<String> {
        let mut said = Vec::new();
        let by_name = plan.network == Network::On && self.landlock < LANDLOCK_FOR_SCOPES;
        if by_name && self.supervisor {
            said.push(format!(
                "only the supervisor protects abstract unix sockets of programs outside (Landlock {LANDLOCK_FOR_SCOPES} \
                 would protect them, too)"
            ));
        }
        if by_name && !self.supervisor {
            said.push("commands can connect to abstract unix sockets of programs outside".to_owned());
        }
        let can_write = plan.rulings.iter().any(|ruling| ruling.access == Access::Write);
        if can_write && !self.supervisor && self.landlock < LANDLOCK_FOR_SOCKETS {
            said.push(
                "commands can connect to unix sockets that programs outside bind in writable places after the command has started"
                    .to_owned(),
            );
        }
        said
    }
}

/// From this version on, Landlock restricts abstract unix sockets and signals to processes that are bound by the same
/// rules.
const LANDLOCK_FOR_SCOPES: u32 = 6;

/// From this version on, it restricts unix sockets at paths, too.
pub(crate) const LANDLOCK_FOR_SOCKETS: u32 = 9;

/// Moving files between directories cannot be allowed by an older one.
const LEAST_LANDLOCK: u32 = 2;

const FILTER_REMEDY: &str =
    "use a kernel with CONFIG_SECCOMP_FILTER, or a container that does not forbid seccomp";
const NAMESPACES: &str = "allow user namespaces (`windlass doctor` says how)";
