//! Notifications about changes: of the list of sessions, and of sessions that a client follows.
//!
//! A slow client gets fewer notifications, each of which covers everything that changed: the client's next read returns
//! the current state in any case.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{ErrorData, ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::AbortHandle;
use windlass_tools::{SessionEvent, Toolbox};

use crate::mcp::handler::resources::session_of;

/// The most resources that one client follows.
const FOLLOWED_LIMIT: usize = 1024;

/// The subscriptions of one client of the older protocols.
#[derive(Debug, Default)]
pub(super) struct Follower {
    followed: Arc<Mutex<BTreeSet<String>>>,
    telling: Mutex<Option<AbortHandle>>,
}

/// A change to announce.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    List,
    Updated(String),
}

impl Follower {
    /// Starts the notifications for this client, once.
    pub(super) fn start(&self, toolbox: &Toolbox, client: Peer<RoleServer>) {
        let mut telling = self.telling.lock().unwrap_or_else(PoisonError::into_inner);
        if telling.is_none() {
            let task = tell(toolbox.events(), Arc::clone(&self.followed), client);
            *telling = Some(tokio::spawn(task).abort_handle());
        }
    }

    /// Subscribes to a resource.
    pub(super) fn follow(&self, uri: String) -> Result<(), ErrorData> {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        if followed.len() >= FOLLOWED_LIMIT && !followed.contains(&uri) {
            let full = format!("{FOLLOWED_LIMIT} resources are followed already; unsubscribe from one first");
            return Err(ErrorData::invalid_request(full, None));
        }
        followed.insert(uri);
        Ok(())
    }

    /// Unsubscribes from a resource.
    pub(super) fn unfollow(&self, uri: &str) {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        if let Some(telling) = self.telling.lock().unwrap_or_else(PoisonError::into_inner).take() {
            telling.abort();
        }
    }
}

async fn tell(
    mut events: Receiver<SessionEvent>,
    followed: Arc<Mutex<BTreeSet<String>>>,
    client: Peer<RoleServer>,
) {
    while let Some(event) = next(&mut events).await {
        let changes = {
            let followed = followed.lock().unwrap_or_else(PoisonError::into_inner);
            changes(event.as_ref(), &followed)
        };
        for change in changes {
            let told = match change {
                Change::List => client.notify_resource_list_changed().await,
                Change::Updated(uri) => {
                    client.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await
                }
            };
            if told.is_err() {
                return;
            }
        }
    }
}

/// The part of a subscription of the newer protocol that the server supports.
pub(super) fn acceptable(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let ours = |uris: &Vec<String>| {
        let ours = uris.iter().filter(|uri| session_of(uri).is_some()).take(FOLLOWED_LIMIT);
        ours.cloned().collect::<Vec<_>>()
    };
    let mut accepted = SubscriptionFilter::new();
    accepted.resources_list_changed = requested.resources_list_changed;
    accepted.resource_subscriptions = requested.resource_subscriptions.as_ref().map(ours);
    accepted
}

/// Sends notifications to a client of the newer protocol for as long as it listens.
pub(super) async fn listen(toolbox: &Toolbox, subscription: &SubscriptionContext) -> Result<(), ErrorData> {
    let mut events = toolbox.events();
    let accepted = subscription.accepted();
    let followed = accepted.resource_subscriptions.iter().flatten().cloned().collect();
    let wants_list = accepted.resources_list_changed == Some(true);
    loop {
        let event = tokio::select! {
            () = subscription.cancelled() => return Ok(()),
            event = next(&mut events) => event,
        };
        let Some(event) = event else { return Ok(()) };
        for change in changes(event.as_ref(), &followed) {
            let told = match change {
                Change::List if wants_list => subscription.sink().notify_resource_list_changed().await,
                Change::List => continue,
                Change::Updated(uri) => subscription.sink().notify_resource_updated(uri).await,
            };
            if told.is_err() {
                return Ok(());
            }
        }
    }
}

/// The next event; `Some(None)` if some were missed; `None` at the end.
async fn next(events: &mut Receiver<SessionEvent>) -> Option<Option<SessionEvent>> {
    match events.recv().await {
        Ok(event) => Some(Some(event)),
        Err(RecvError::Lagged(_)) => Some(None),
        Err(RecvError::Closed) => None,
    }
}

/// The notifications for subscribers of these resources after an event, or after missed ones.
fn changes(event: Option<&SessionEvent>, followed: &BTreeSet<String>) -> Vec<Change> {
    let of = |session: &str| {
        let theirs = followed.iter().filter(|uri| session_of(uri) == Some(session));
        theirs.cloned().map(Change::Updated).collect()
    };
    match event {
        Some(SessionEvent::Started { .. }) => vec![Change::List],
        // Output does not change the resource with the session's events.
        Some(SessionEvent::Output { session }) => {
            let mut changed: Vec<Change> = of(session);
            changed.retain(|change| !matches!(change, Change::Updated(uri) if uri.ends_with("/events")));
            changed
        }
        Some(SessionEvent::Ended { session, .. }) => of(session),
        None => std::iter::once(Change::List).chain(followed.iter().cloned().map(Change::Updated)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_told_to_those_who_follow_its_session() {
        let uri = |session: &str, view: &str| format!("windlass://session/{session}/{view}");
        let followed = [uri("1", "screen"), uri("1", "transcript"), uri("2", "events"), uri("2", "screen")];
        let followed = BTreeSet::from(followed);
        let updated = |session: &str, view: &str| Change::Updated(uri(session, view));
        let check = |event: Option<SessionEvent>, expected: &[Change]| {
            assert_eq!(changes(event.as_ref(), &followed), expected, "{event:?}");
        };
        check(Some(SessionEvent::Started { session: "3".into() }), &[Change::List]);
        check(
            Some(SessionEvent::Output { session: "1".into() }),
            &[updated("1", "screen"), updated("1", "transcript")],
        );
        check(Some(SessionEvent::Output { session: "2".into() }), &[updated("2", "screen")]);
        check(
            Some(SessionEvent::Ended { session: "2".into(), line: String::new() }),
            &[updated("2", "events"), updated("2", "screen")],
        );
        check(Some(SessionEvent::Output { session: "3".into() }), &[]);
        let everything = [
            Change::List,
            updated("1", "screen"),
            updated("1", "transcript"),
            updated("2", "events"),
            updated("2", "screen"),
        ];
        check(None, &everything);
    }

    #[test]
    fn a_subscription_is_cut_down_to_what_is_ours() {
        let mut requested = SubscriptionFilter::new();
        requested.tools_list_changed = Some(true);
        requested.resources_list_changed = Some(true);
        requested.resource_subscriptions =
            Some(vec!["file:///x".into(), "windlass://session/1/screen".into()]);
        let accepted = acceptable(&requested);
        assert_eq!(accepted.tools_list_changed, None);
        assert_eq!(accepted.resources_list_changed, Some(true));
        assert_eq!(accepted.resource_subscriptions, Some(vec!["windlass://session/1/screen".to_owned()]));
    }
}
