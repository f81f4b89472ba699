//! The state that a runtime keeps for its confined commands: the abilities of the machine, and the namespaces for each
//! network, made when first needed and entered by every later command.

use crate::authority::{Authorities, Authority, AuthorityNumbers};
use crate::confinement::{Circumstances, Confinement, Preparation, StreamKind};
use crate::disk::{DirectoryMemory, Disk};
use crate::machine::Machine;
use crate::plan::{HIDDEN, Layer, Plan, PlanError, PlanHistory, PolicyContext, Ruling};
use crate::policy::{Access, Confined, Network};
use crate::remedies::Remedies;
use crate::request::{ConfineStep, Failure, HelperRequest, NetworkKind, Report};
use crate::start::{Helper, HelperConnection, HelperProgram, StartFailure};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use windlass_sys::lockdown::namespace::{self, Users};

/// Namespaces that commands with the same network share.
#[derive(Debug)]
pub struct SharedNamespaces {
    users: OwnedFd,
    network: Option<OwnedFd>,
}

impl SharedNamespaces {
    /// The descriptors that a helper receives.
    pub(crate) fn spaces(&self) -> Vec<BorrowedFd<'_>> {
        std::iter::once(&self.users).chain(&self.network).map(AsFd::as_fd).collect()
    }

    pub(crate) fn has_network(&self) -> bool {
        self.network.is_some()
    }
}

/// Helpers that wait for commands.
#[derive(Debug, Default)]
struct Waiting {
    /// In the namespaces of one network, with devices of its own; fits every plan that allows such a helper.
    standing: Option<(Network, HelperConnection)>,
    /// Confined like the last command; fits the next one if its confinement is equal.
    prepared: Option<(Preparation, HelperConnection)>,
}

/// Whether a helper can enter its namespaces before the plan is known: no place of the plan lies where every command
/// has a directory of its own.
fn can_wait_for(plan: &Plan) -> bool {
    let covered = |ruling: &Ruling| HIDDEN.iter().any(|hidden| ruling.path.starts_with(hidden));
    plan.has(Layer::Namespaces) && !plan.rulings.iter().any(covered)
}

/// The layers that are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EnabledLayers {
    /// All that the machine has.
    #[default]
    All,
    /// Only those without namespaces, to try out the fallback.
    LandlockAlone,
}

/// The namespaces and helpers of one runtime.
#[derive(Debug)]
pub struct NamespacePool {
    helper: HelperProgram,
    means: EnabledLayers,
    own_files: OwnFiles,
    /// Changes that the runtime's caller can make to a policy.
    remedies: Remedies,
    /// When the runtime began, in nanoseconds since 1970, by the clock of file systems.
    began: u64,
    machine: OnceLock<Machine>,
    /// The namespaces for each network of a policy. The proxy to the listed hosts listens on the loopback device of
    /// such a namespace and does not authenticate its callers, so commands with another list, or none, must not share
    /// the device.
    made: Mutex<Vec<(Network, Arc<SharedNamespaces>)>>,
    waiting: Mutex<Waiting>,
    /// Facts about the disk that the last plan has found. Two plans at the same time do not share it.
    memory: Mutex<DirectoryMemory>,
    /// Held while helpers are made ready.
    preparing: Mutex<()>,
    /// Helpers that have done their work and were not collected yet.
    done: Mutex<Vec<Helper>>,
    /// A file without a name in which supervisors write down the sockets that their sessions bind.
    sockets: OnceLock<Option<OwnedFd>>,
    /// The authorities of its commands' policies.
    authorities: Mutex<Authorities>,
    /// Where its commands can have put links.
    history: Mutex<PlanHistory>,
}

/// Files that the runtime and its user's shells obey. No confined command may change them, wherever they lie; a write
/// rule that names one of them is the exception.
#[derive(Clone, Debug, Default)]
pub struct OwnFiles {
    /// The program itself. A program that lies in the workspace was built there and may be built again.
    pub program: Option<PathBuf>,
    /// Configuration and rules: files or directories.
    pub configuration: Vec<PathBuf>,
    /// Directories with files that the user's shells and git read ([`OwnFiles::STARTUP`]): a line in one of them is a
    /// command.
    pub startup: Vec<PathBuf>,
    /// The directories of the user's `PATH`, in which shells and programs look for others by their names.
    pub search_path: Vec<PathBuf>,
    /// Files with secrets that the runtime was given, such as tokens of its servers: no command may read them.
    pub secrets: Vec<PathBuf>,
    /// Places at which the user's programs expect a server of the user.
    pub server_places: Vec<ServerPlace>,
    /// The directory where a runtime inside a sandbox keeps its records, with the variable that names it: it cannot
    /// write to the records of this one.
    pub state_inside: Option<StateInside>,
}

/// A directory with sockets, or a socket, that a variable of the user's environment names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerPlace {
    /// The path of the directory or socket.
    pub path: PathBuf,
    /// The variable, for the text of a denial.
    pub variable: String,
}

/// A variable for confined commands.
#[derive(Clone, Debug)]
pub struct StateInside {
    /// Its name.
    pub variable: String,
    /// The directory that it names.
    pub directory: PathBuf,
}

impl StateInside {
    /// Sets the variable, unless it already names a place that the command may write to.
    pub(crate) fn set(&self, environment: &mut Vec<CString>, plan: &Plan) {
        let is_writable =
            |path: &Path| plan.ruling_at(path).is_some_and(|ruling| ruling.access == Access::Write);
        if !is_writable(&self.directory) {
            return;
        }
        let prefix = format!("{}=", self.variable);
        let value = |text: &CString| {
            let value = text.to_bytes().strip_prefix(prefix.as_bytes())?;
            Some(PathBuf::from(OsStr::from_bytes(value)))
        };
        if environment.iter().filter_map(value).next_back().is_some_and(|path| is_writable(&path)) {
            return;
        }
        environment.retain(|text| !text.to_bytes().starts_with(prefix.as_bytes()));
        environment.extend(CString::new([prefix.as_bytes(), self.directory.as_os_str().as_bytes()].concat()));
    }
}

impl OwnFiles {
    /// Names of files in a home directory that shells and git read.
    pub const STARTUP: [&str; 12] = [
        ".bash_profile",
        ".bash_login",
        ".profile",
        ".bashrc",
        ".bash_logout",
        ".bash_aliases",
        ".zshenv",
        ".zprofile",
        ".zshrc",
        ".zlogin",
        ".zlogout",
        ".gitconfig",
    ];
    /// The same, in directories that may be links.
    pub const STARTUP_BELOW: [&str; 2] = [".config/git", ".config/git/config"];
}

impl NamespacePool {
    /// An empty pool.
    pub fn new(helper: HelperProgram, means: EnabledLayers, own_files: OwnFiles, remedies: Remedies) -> Self {
        Self {
            own_files,
            remedies,
            began: windlass_sys::clock::of_files(),
            helper,
            means,
            machine: OnceLock::new(),
            made: Mutex::default(),
            waiting: Mutex::default(),
            memory: Mutex::default(),
            preparing: Mutex::default(),
            done: Mutex::default(),
            sockets: OnceLock::new(),
            authorities: Mutex::default(),
            history: Mutex::default(),
        }
    }

    /// The files that no command may change.
    pub(crate) fn own_files(&self) -> &OwnFiles {
        &self.own_files
    }

    pub(crate) fn remedies(&self) -> &Remedies {
        &self.remedies
    }

    /// `None`: each session then knows only its own sockets.
    fn bound_sockets(&self) -> Option<BorrowedFd<'_>> {
        let make = || memfd_create("bound-sockets", MemfdFlags::CLOEXEC).ok();
        self.sockets.get_or_init(make).as_ref().map(AsFd::as_fd)
    }

    fn authority_numbers(&self, authority: &Authority) -> AuthorityNumbers {
        self.authorities.lock().unwrap_or_else(PoisonError::into_inner).numbers_of(authority)
    }

    pub(crate) fn began(&self) -> u64 {
        self.began
    }

    /// Refuses a plan that makes a place writable through a link of an earlier command.
    pub(crate) fn admit(
        &self,
        plan: &Plan,
        asked: (&Confined, &PolicyContext),
        files: &Disk,
    ) -> Result<(), PlanError> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner).admit(plan, asked, files)
    }

    pub(crate) fn take_memory(&self) -> DirectoryMemory {
        std::mem::take(&mut self.memory.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn keep_memory(&self, memory: DirectoryMemory) {
        *self.memory.lock().unwrap_or_else(PoisonError::into_inner) = memory;
    }

    /// The namespaces for a command under this plan, if it uses any.
    pub(crate) fn ground_for(&self, plan: &Plan) -> Result<Option<Arc<SharedNamespaces>>, StartFailure> {
        plan.has(Layer::Namespaces).then(|| self.ground(&plan.network)).transpose()
    }

    /// The confinement of a command under this plan, as far as it is known before the command.
    pub(crate) fn preparation(
        &self,
        plan: &Plan,
        ground: Option<&SharedNamespaces>,
        streams: StreamKind,
    ) -> Preparation {
        let own_network = ground.is_some_and(SharedNamespaces::has_network);
        let circumstances = Circumstances {
            own_network,
            shares_sockets: self.bound_sockets().is_some(),
            authority: self.authority_numbers(&plan.authority),
            runtime_began: self.began,
            remedies: self.remedies.clone(),
        };
        Preparation { confinement: Confinement::of(plan, circumstances), streams }
    }

    /// The list of bound sockets, where a helper is to be passed it.
    pub(crate) fn shared_sockets(&self, confinement: &Confinement) -> Option<BorrowedFd<'_>> {
        self.bound_sockets().filter(|_| confinement.shares_sockets)
    }

    /// The helper that was prepared for exactly this confinement, if there is one.
    pub(crate) fn prepared_helper(&self, preparation: &Preparation) -> Option<HelperConnection> {
        let (_, talk) = self.waiting().prepared.take_if(|(ready, _)| ready == preparation)?;
        Some(talk).filter(HelperConnection::is_there)
    }

    /// The waiting helper that fits such a plan, if there is one.
    pub(crate) fn standing_helper(&self, plan: &Plan) -> Option<HelperConnection> {
        if !can_wait_for(plan) {
            return None;
        }
        let (_, talk) = self.waiting().standing.take_if(|(ready, _)| *ready == plan.network)?;
        Some(talk).filter(HelperConnection::is_there)
    }

    pub(crate) fn new_helper(&self) -> Result<HelperConnection, StartFailure> {
        HelperConnection::begin(&self.helper)
    }

    /// Makes helpers ready for the next command: one that is confined already, for the same plan, and one for another
    /// plan. Blocks while they are started.
    pub fn prepare(&self, plan: &Plan, streams: StreamKind) {
        // If another thread holds the lock, it is already making helpers ready for this caller, too.
        let Ok(_preparing) = self.preparing.try_lock() else { return };
        if can_wait_for(plan) {
            // A helper that cannot be made ready now is started when it is needed, and its failure reported then.
            let _ = self.prepare_confined(plan, streams).and_then(|()| self.prepare_standing(plan));
        }
    }

    fn prepare_confined(&self, plan: &Plan, streams: StreamKind) -> Result<(), StartFailure> {
        let ground = self.ground(&plan.network)?;
        let preparation = self.preparation(plan, Some(&ground), streams);
        let is_it =
            |(ready, talk): &(Preparation, HelperConnection)| *ready == preparation && talk.is_there();
        if self.waiting().prepared.as_ref().is_some_and(is_it) {
            return Ok(());
        }
        let talk = match self.standing_helper(plan) {
            Some(talk) => talk,
            None => self.new_standing(&ground)?,
        };
        let task = HelperRequest::Prepare(Box::new(preparation.clone()));
        talk.order(&task, self.shared_sockets(&preparation.confinement).as_slice())?;
        self.waiting().prepared = Some((preparation, talk));
        Ok(())
    }

    fn prepare_standing(&self, plan: &Plan) -> Result<(), StartFailure> {
        let is_it = |(ready, talk): &(Network, HelperConnection)| *ready == plan.network && talk.is_there();
        if self.waiting().standing.as_ref().is_some_and(is_it) {
            return Ok(());
        }
        let talk = self.new_standing(&*self.ground(&plan.network)?)?;
        self.waiting().standing = Some((plan.network.clone(), talk));
        Ok(())
    }

    fn new_standing(&self, ground: &SharedNamespaces) -> Result<HelperConnection, StartFailure> {
        let talk = self.new_helper()?;
        talk.order(&HelperRequest::Stand { own_network: ground.has_network() }, &ground.spaces())?;
        Ok(talk)
    }

    /// Takes a helper that is about to exit, so that the command need not wait for that.
    pub(crate) fn collect_later(&self, helper: Helper) {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).push(helper);
    }

    /// Collects the helpers that have exited by now.
    pub(crate) fn collect(&self) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.retain(|helper| !helper.is_collected());
    }

    /// Ends the helpers that wait.
    pub fn dismiss(&self) {
        *self.waiting() = Waiting::default();
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The abilities of this machine, detected on the first call.
    pub fn machine(&self) -> &Machine {
        self.machine.get_or_init(|| {
            let namespaces = match self.means {
                EnabledLayers::All => try_namespaces(&self.helper).map_err(|failure| failure.to_string()),
                EnabledLayers::LandlockAlone => Err("left out by --sandbox-layers landlock".to_owned()),
            };
            Machine::with_namespaces(namespaces)
        })
    }

    /// The namespaces for a network.
    pub fn ground(&self, network: &Network) -> Result<Arc<SharedNamespaces>, StartFailure> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, ground)) = made.iter().find(|(it, _)| it == network) {
            return Ok(Arc::clone(ground));
        }
        let ground = Arc::new(make(&self.helper, network.into())?);
        made.push((network.clone(), Arc::clone(&ground)));
        Ok(ground)
    }
}

fn try_namespaces(helper: &HelperProgram) -> Result<(), StartFailure> {
    let talk = HelperConnection::begin(helper)?;
    talk.order(&HelperRequest::Try, &[])?;
    match talk.next()?.0 {
        Report::Made => Ok(()),
        report => Err(talk.unexpected(report)),
    }
}

fn make(helper: &HelperProgram, network: NetworkKind) -> Result<SharedNamespaces, StartFailure> {
    let users_from_outside = rustix::process::geteuid().is_root();
    let talk = HelperConnection::begin(helper)?;
    talk.order(&HelperRequest::Ground { network, users_from_outside }, &[])?;
    loop {
        match talk.next()? {
            (Report::NameUsers, _) => {
                let named = namespace::map_users(&talk.helper_number(), Users::Everybody);
                // A process that may not map all users can still map its own.
                talk.say(&if named.is_ok() { Report::NameUsers } else { Report::Made })?;
            }
            (Report::Made, descriptors) => return ground_of(descriptors),
            (report, _) => return Err(talk.unexpected(report)),
        }
    }
}

fn ground_of(descriptors: Vec<OwnedFd>) -> Result<SharedNamespaces, StartFailure> {
    let mut descriptors = descriptors.into_iter();
    let missing = || Failure { stage: ConfineStep::Namespaces, place: String::new(), errno: Errno::BADF };
    Ok(SharedNamespaces { users: descriptors.next().ok_or_else(missing)?, network: descriptors.next() })
}
