//! A plan in words, for people who want to know what would be enforced before they rely on it.

use crate::obeyed_names::OBEYED_ANYWHERE;
use crate::plan::{Layer, Plan, Ruling};
use crate::policy::{Access, Network};
use std::fmt;

/// What a plan comes to, line by line.
#[derive(Clone, Copy, Debug)]
pub struct Explanation<'a>(pub &'a Plan);

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
            line(ruling.access.words(), &format!("{path}  [{origin}; {}]", by(plan, ruling)))?;
        }
        for unborn in &plan.unborn {
            line("unchanged", &format!("{}  [{}; supervisor]", unborn.path.display(), unborn.origin))?;
        }
        if plan.has(Layer::Supervisor) && plan.rulings.iter().any(|ruling| ruling.access == Access::Write) {
            let names = OBEYED_ANYWHERE.join(", ");
            line(
                "unchanged",
                &format!(
                    "{names}  [at the top of writable places and in directories that were there before; supervisor]"
                ),
            )?;
        }
        for socket in &plan.sockets {
            line("hidden", &format!("{}  [a socket of others; namespaces]", socket.display()))?;
        }
        line("network", &format!("{}  [{}]", network(&plan.network), network_by(plan)))?;
        for difference in &plan.differences {
            line("but", difference)?;
        }
        Ok(())
    }
}

/// Which layers keep a ruling.
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
            "loopback: 127.0.0.1 among the commands of this runtime, nothing else".to_owned()
        }
        Network::Hosts(hosts) => {
            format!("only {} and 127.0.0.1 among the commands of this runtime", hosts.join(", "))
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
