//! Explains a plan in words, so that users can see what would be enforced before they rely on it.

use crate::obeyed_names::{OBEYED_ANYWHERE, OBEYED_BELOW};
use crate::plan::{Layer, Plan, Ruling};
use crate::policy::{Access, Network};
use std::fmt;

/// Every rule of a plan, line by line.
#[derive(Clone, Copy, Debug)]
pub struct Explanation<'a>(pub &'a Plan);

/// A plan in a few lines.
#[derive(Clone, Copy, Debug)]
pub struct Summary<'a>(pub &'a Plan);

/// The words of a list of rules.
const LEGEND: &str = "
In brackets: the reason, then the layers that enforce it.
read only   commands can read it, and not change it
writable    commands can change it
hidden      commands can neither read nor change it
unchanged   commands can neither create, change, remove nor replace it, whether or not it exists
judged      the supervisor checks each new content of the file
differs     what this machine enforces less strictly than the policy says, or in another way
";

/// Names of protected places that a summary shows.
const EXAMPLES: usize = 4;

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = self.0;
        let layers: Vec<String> = plan.layers.iter().map(|layer| layer.name()).collect();
        let with = |access: Access| plan.rulings.iter().filter(move |it| it.access == access && !it.pinned);
        let paths = |access| with(access).map(|ruling| ruling.path.display().to_string()).collect::<Vec<_>>();
        let mut line = |what: &str, about: &str| writeln!(f, "{what:<11} {about}");
        line("policy", plan.policy)?;
        let hidden = paths(Access::Deny);
        let but = if hidden.is_empty() { String::new() } else { format!(" except {}", some(&hidden)) };
        line("reads", &format!("everything{but}"))?;
        let writable = paths(Access::Write);
        line("writes", &if writable.is_empty() { "nothing".to_owned() } else { writable.join(", ") })?;
        let protected = self.protected();
        if !protected.is_empty() {
            line("protected", &format!("although in a writable place: {}", some(&protected)))?;
        }
        line("network", &network(&plan.network))?;
        line("enforced by", &layers.join(", "))?;
        for difference in &plan.differences {
            line("differs", difference)?;
        }
        Ok(())
    }
}

impl Summary<'_> {
    /// Places inside writable ones that cannot be changed: those that exist first, then those that must not be made.
    fn protected(&self) -> Vec<String> {
        let is_inside = |path: &std::path::Path| {
            let around = path.parent().and_then(|parent| self.0.ruling_at(parent));
            around.is_some_and(|ruling| ruling.access == Access::Write)
        };
        let kept = self.0.rulings.iter().filter(|ruling| ruling.access == Access::Read).map(|it| &it.path);
        let kept = kept.chain(self.0.must_not_exist.iter().map(|must_not_exist| &must_not_exist.path));
        kept.filter(|path| is_inside(path)).map(|path| path.display().to_string()).collect()
    }
}

/// The first few, and how many more there are.
fn some(names: &[String]) -> String {
    let shown = names[..names.len().min(EXAMPLES)].join(", ");
    match names.len().saturating_sub(EXAMPLES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

impl Layer {
    /// In a few words.
    pub fn name(self) -> String {
        match self {
            Self::Namespaces => "namespaces".to_owned(),
            Self::Network => "network namespace".to_owned(),
            Self::Landlock(version) => format!("landlock {version}"),
            Self::Filter => "seccomp".to_owned(),
            Self::Supervisor => "supervisor".to_owned(),
        }
    }
}

impl Access {
    fn words(self) -> &'static str {
        match self {
            Self::Deny => "hidden",
            Self::Read => "read only",
            Self::Write => "writable",
        }
    }
}

impl fmt::Display for Explanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = self.0;
        let layers: Vec<String> = plan.layers.iter().map(|layer| layer.name()).collect();
        let mut line = |what: &str, about: &str| writeln!(f, "{what:<9} {about}");
        line("policy", plan.policy)?;
        line("layers", &layers.join(", "))?;
        for ruling in &plan.rulings {
            let (path, origin) = (ruling.path.display(), &ruling.origin);
            // The place itself must not be moved, and its content can be changed.
            let kept = if ruling.pinned { "not to be moved or replaced; " } else { "" };
            line(ruling.access.words(), &format!("{path}  [{kept}{origin}; {}]", by(plan, ruling)))?;
        }
        for must_not_exist in &plan.must_not_exist {
            line(
                "unchanged",
                &format!("{}  [{}; supervisor]", must_not_exist.path.display(), must_not_exist.origin),
            )?;
        }
        for configuration in plan.judged_configurations() {
            let by = "content is checked: everyday settings can be changed, others cannot; supervisor";
            line("judged", &format!("{}  [{by}]", configuration.display()))?;
        }
        if plan.has(Layer::Supervisor) && plan.rulings.iter().any(|ruling| ruling.access == Access::Write) {
            let names = [&OBEYED_ANYWHERE[..], &OBEYED_BELOW].concat().join(", ");
            line(
                "unchanged",
                &format!(
                    "{names}  [at the top of writable places and in directories that were there before; supervisor]"
                ),
            )?;
        }
        for socket in &plan.sockets {
            line("hidden", &format!("{}  [a socket of a program outside; namespaces]", socket.display()))?;
        }
        line("network", &format!("{}  [{}]", network(&plan.network), network_by(plan)))?;
        for difference in &plan.differences {
            line("differs", difference)?;
        }
        f.write_str(LEGEND)?;
        Ok(())
    }
}

/// The layers that enforce a ruling.
fn by(plan: &Plan, ruling: &Ruling) -> &'static str {
    let nested = ruling.path.as_os_str() != "/";
    match (plan.has(Layer::Namespaces), ruling.access) {
        (true, Access::Deny) => "namespaces",
        (true, Access::Read | Access::Write) => "namespaces, landlock",
        (false, Access::Read) if nested => "supervisor",
        (false, _) => "landlock",
    }
}

fn network(network: &Network) -> String {
    match network {
        Network::Off => "off".to_owned(),
        Network::Loopback => {
            "loopback: commands of this runtime reach each other at 127.0.0.1, and nothing else; servers that run on this machine outside \
             of the sandbox are not there, `--network localhost:PORT` reaches one".to_owned()
        }
        Network::Hosts(hosts) => {
            format!(
                "only {}, through a proxy; commands of this runtime reach each other at 127.0.0.1",
                hosts.join(", ")
            )
        }
        Network::On => "on".to_owned(),
    }
}

fn network_by(plan: &Plan) -> &'static str {
    match (&plan.network, plan.has(Layer::Network)) {
        (Network::On, _) => "not restricted",
        (Network::Hosts(_), _) => "network namespace, proxy",
        (_, true) => "network namespace",
        (_, false) => "seccomp, landlock",
    }
}
