//! The egress listener of a confined command, its only way to the hosts that its policy lists, and the proxy behind it
//! in this runtime. The proxy's refusals are denials of the session's sandbox like any others.

use crate::reactor;
use crate::session::Shared;
use rustix::fd::OwnedFd;
use std::ffi::CString;
use std::net::TcpListener;
use std::sync::{Arc, Weak};
use tokio::io::Interest;
use windlass_proxy::allow::EntryError;
use windlass_proxy::decision::{Decision, DenyReason, HostVerdict, ProxyEvent};
use windlass_proxy::environment::{AllProxy, environment};
use windlass_proxy::resolve::SystemResolver;
use windlass_proxy::{AllowList, Options, Proxy};
use windlass_sandbox::{DOOR, Denial, Network, Operation, Plan};
use windlass_sys::process::Process;

/// The list of hosts in a plan, if it has one.
pub(crate) fn hosts(network: &Network) -> Option<Result<AllowList, EntryError>> {
    match network {
        Network::Hosts(hosts) => Some(AllowList::parse(hosts)),
        Network::Off | Network::Loopback | Network::On => None,
    }
}

/// Checks a list of hosts that a policy names.
///
/// # Errors
///
/// An entry that cannot be listed.
pub fn check_hosts(hosts: &[String]) -> Result<(), EntryError> {
    AllowList::parse(hosts).map(drop)
}

/// The variables that name the proxy to programs. Its port is not known yet.
pub(crate) fn variables(plan: &Plan) -> Vec<CString> {
    /// A placeholder for the port: nothing listens there, and no list of hosts names it.
    const PLACE: u16 = 1;
    let Some(Ok(hosts)) = hosts(&plan.network) else { return Vec::new() };
    let named = |(name, value): (&str, String)| {
        let value = value.replace(&format!("127.0.0.1:{PLACE}"), &format!("127.0.0.1:{DOOR}"));
        CString::new(format!("{name}={value}")).ok()
    };
    environment(PLACE, &hosts, AllProxy::Http).into_iter().filter_map(named).collect()
}

/// An egress listener, with the list of hosts that may be reached through it.
#[derive(Debug)]
pub(crate) struct EgressListener {
    pub(crate) listener: OwnedFd,
    pub(crate) hosts: AllowList,
    /// The supervisor, which lives as long as any process of the session.
    pub(crate) watcher: Process,
}

impl EgressListener {
    /// Serves connections until no process is left that could open one.
    pub(crate) async fn stand(self, session: Weak<Shared>) {
        let listener = TcpListener::from(self.listener);
        let Ok(()) = listener.set_nonblocking(true) else { return };
        let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
        let Ok(watcher) = reactor::watch(self.watcher, Interest::READABLE) else { return };
        let gone = async { drop(watcher.readable().await) };
        let tell = move |event: ProxyEvent| note(&session, event);
        Proxy::new(self.hosts, Options::default(), SystemResolver::default(), tell)
            .serve(listener, gone)
            .await;
    }
}

fn note(session: &Weak<Shared>, event: ProxyEvent) {
    let ProxyEvent::Decided(decision) = event else { return };
    let Some(shared): Option<Arc<Shared>> = session.upgrade() else { return };
    if let Some(denial) = denial(&decision) {
        shared.confined.refused(denial);
    }
}

/// A listed name that has no address, or cannot be looked up, would not be reached without a sandbox either: only the
/// list denies.
fn denial(decision: &Decision) -> Option<Denial> {
    let HostVerdict::Refused(DenyReason::Unlisted(why)) = &decision.verdict else { return None };
    Some(Denial {
        operation: Operation::Connect,
        target: format!("{}:{}", decision.host, decision.port),
        rule: format!("network hosts: {why}"),
        times: 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_proxy::allow::Unlisted;
    use windlass_proxy::decision::{ConnectionId, Protocol};

    #[test]
    fn a_listed_name_that_does_not_exist_is_no_denial() {
        let check = |why: DenyReason, is_denied: bool| {
            let decision = Decision {
                connection: ConnectionId(1),
                protocol: Protocol::Connect,
                host: "listed.invalid".to_owned(),
                port: 443,
                address: None,
                verdict: HostVerdict::Refused(why.clone()),
            };
            assert_eq!(denial(&decision).is_some(), is_denied, "{why}");
        };
        check(DenyReason::NoAddress, false);
        check(DenyReason::LookupFailed("Name or service not known".to_owned()), false);
        check(DenyReason::LookupTimedOut, false);
        check(DenyReason::Unlisted(Unlisted::Host), true);
    }
}
