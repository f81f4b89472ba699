//! The confinement of a command: its plan in the form that helpers and supervisors need and that is sent to them.

use crate::authority::AuthorityNumbers;
use crate::calls::{FilterOptions, keeps_datagrams};
use crate::plan::{Layer, Plan, Ruling, ruling_at};
use crate::policy::Access;
use crate::protect::{MustNotExist, NamedFile, Repository};
use crate::remedies::Remedies;
use crate::request::NetworkKind;
use crate::request::bytes::{Reader, Writer};
use std::path::PathBuf;

/// All properties of a sandbox except its command. A sandbox that was prepared for one confinement fits each command
/// with an equal one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Confinement {
    pub(crate) rulings: Vec<Ruling>,
    pub(crate) must_not_exist: Vec<MustNotExist>,
    pub(crate) sockets: Vec<PathBuf>,
    pub(crate) repositories: Vec<Repository>,
    pub(crate) named_files: Vec<NamedFile>,
    /// When the runtime began, in nanoseconds since 1970: repositories that were made since are its commands' own.
    pub(crate) runtime_began: u64,
    pub(crate) readable: Option<Vec<PathBuf>>,
    pub(crate) network: NetworkKind,
    pub(crate) namespaces: bool,
    /// Whether the namespaces of the pool include one for the network.
    pub(crate) own_network: bool,
    pub(crate) landlock: u32,
    pub(crate) supervisor: bool,
    /// Whether the list of sockets that sessions of this runtime have bound comes with the request.
    pub(crate) shares_sockets: bool,
    /// The policies whose sockets the command may connect to.
    pub(crate) authority: AuthorityNumbers,
    /// Changes that the runtime's caller can make to the policy; denials name them.
    pub(crate) remedies: Remedies,
}

/// The work that a helper can do before the command is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Preparation {
    pub(crate) confinement: Confinement,
    /// The kind of the streams. A terminal has to be mounted, so a helper that waits for a command on a terminal locks
    /// itself in only when the command comes.
    pub(crate) streams: StreamKind,
}

/// The kind of a command's standard streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// Pipes or files.
    Pipes,
    /// A terminal, for all three of them.
    Terminal,
}

/// The facts beside the plan on which a confinement depends.
#[derive(Clone, Debug)]
pub(crate) struct Circumstances {
    /// Whether the command gets a network namespace.
    pub(crate) own_network: bool,
    /// Whether the list of sockets is passed on.
    pub(crate) shares_sockets: bool,
    /// The number of the plan's authority, and of those that it covers.
    pub(crate) authority: AuthorityNumbers,
    /// When the runtime began.
    pub(crate) runtime_began: u64,
    /// Changes that the runtime's caller can make to the policy.
    pub(crate) remedies: Remedies,
}

impl Confinement {
    pub(crate) fn of(plan: &Plan, circumstances: Circumstances) -> Self {
        let Circumstances { own_network, shares_sockets, authority, runtime_began, remedies } = circumstances;
        Self {
            rulings: plan.rulings.clone(),
            must_not_exist: plan.must_not_exist.clone(),
            sockets: plan.sockets.clone(),
            repositories: plan.repositories.clone(),
            named_files: plan.named_files.clone(),
            runtime_began,
            readable: plan.readable.clone(),
            network: (&plan.network).into(),
            namespaces: plan.has(Layer::Namespaces),
            own_network,
            landlock: plan.landlock(),
            supervisor: plan.has(Layer::Supervisor),
            shares_sockets,
            authority,
            remedies,
        }
    }

    /// Whether the supervisor changes files, and creates, moves and removes names, in the caller's place. That is so
    /// wherever the command can write: there are names that must not be created, and protected places whose parents
    /// must not be moved.
    pub(crate) fn keeps_names(&self) -> bool {
        !self.must_not_exist.is_empty() || self.rulings.iter().any(|ruling| ruling.access == Access::Write)
    }

    /// The filter of system calls that the command needs.
    pub(crate) fn filter(&self) -> FilterOptions {
        FilterOptions {
            network: self.network,
            own_network: self.own_network,
            supervised: self.supervisor,
            namespaces: self.namespaces,
            names_kept: self.keeps_names(),
            reads: self.rulings.iter().any(Ruling::hides_content),
            datagrams_kept: keeps_datagrams(self.landlock),
        }
    }

    /// Whether an object in a writable place must not be moved. That includes writable objects: otherwise a command
    /// could put something else in the object's place, and the next command could change that.
    pub(crate) fn is_held(&self, ruling: &Ruling) -> bool {
        let above = ruling.path.parent().and_then(|above| ruling_at(&self.rulings, above));
        above.is_some_and(|above| above.access == Access::Write)
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.list(&self.rulings, |out, ruling| {
            out.path(&ruling.path);
            out.byte(ruling.access as u8);
            out.block(ruling.origin.as_bytes());
            out.flag(ruling.pinned);
        });
        out.list(&self.must_not_exist, |out, must_not_exist| {
            out.path(&must_not_exist.path);
            out.path(&must_not_exist.directory);
            out.block(must_not_exist.origin.as_bytes());
        });
        out.list(&self.sockets, |out, path| out.path(path));
        out.list(&self.repositories, |out, repository| {
            out.path(&repository.git_dir);
            out.path(&repository.work_tree);
        });
        out.list(&self.named_files, |out, file| {
            out.path(&file.name);
            out.path(&file.work_tree);
        });
        out.large(self.runtime_began);
        out.flag(self.readable.is_some());
        out.list(self.readable.as_deref().unwrap_or_default(), |out, path| out.path(path));
        out.byte(self.network.code());
        out.flag(self.namespaces);
        out.flag(self.own_network);
        out.number(self.landlock);
        out.flag(self.supervisor);
        out.flag(self.shares_sockets);
        out.number(self.authority.own);
        out.list(&self.authority.covered, |out, number| out.number(*number));
        self.remedies.write(out);
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            rulings: from.list(|from| {
                Some(Ruling {
                    path: from.path()?,
                    access: access_from(from.byte()?)?,
                    origin: from.text()?,
                    pinned: from.flag()?,
                })
            })?,
            must_not_exist: from.list(|from| {
                Some(MustNotExist { path: from.path()?, directory: from.path()?, origin: from.text()? })
            })?,
            sockets: from.list(Reader::path)?,
            repositories: from
                .list(|from| Some(Repository { git_dir: from.path()?, work_tree: from.path()? }))?,
            named_files: from.list(|from| Some(NamedFile { name: from.path()?, work_tree: from.path()? }))?,
            runtime_began: from.large()?,
            readable: {
                let given = from.flag()?;
                Some(from.list(Reader::path)?).filter(|_| given)
            },
            network: NetworkKind::from_code(from.byte()?)?,
            namespaces: from.flag()?,
            own_network: from.flag()?,
            landlock: from.number()?,
            supervisor: from.flag()?,
            shares_sockets: from.flag()?,
            authority: AuthorityNumbers { own: from.number()?, covered: from.list(Reader::number)? },
            remedies: Remedies::read(from)?,
        })
    }
}

fn access_from(code: u8) -> Option<Access> {
    [Access::Deny, Access::Read, Access::Write].into_iter().find(|access| *access as u8 == code)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn sample() -> Confinement {
        Confinement {
            rulings: vec![Ruling { pinned: true, ..Ruling::new("/w", Access::Write, "the workspace") }],
            must_not_exist: vec![MustNotExist {
                path: "/w/.git".into(),
                directory: "/w".into(),
                origin: "protected".into(),
            }],
            sockets: vec!["/tmp/s".into()],
            repositories: vec![Repository { git_dir: "/w/.git".into(), work_tree: "/w".into() }],
            named_files: vec![NamedFile { name: ".husky".into(), work_tree: "/w".into() }],
            runtime_began: 1 << 60,
            readable: Some(vec!["/usr".into()]),
            network: NetworkKind::Hosts,
            namespaces: true,
            own_network: true,
            landlock: 7,
            supervisor: true,
            shares_sockets: true,
            authority: AuthorityNumbers { own: 3, covered: vec![1, 3] },
            remedies: Remedies::default(),
        }
    }
}
