//! Announcements that replies carry beside their own content: sessions that ended, and remarks about the sandbox. Each
//! is sent once.

use std::collections::HashSet;
use std::sync::Arc;

use crate::delivery::Delivery;
use crate::live_session::{LiveSession, Number};
use crate::report;
use crate::toolbox::Toolbox;

/// The most remarks that are stored as sent; policies of calls may bring ever new ones.
const MOST_REMARKS: usize = 64;

/// Sentences about the sandbox. Each is sent once, with the next reply.
#[derive(Default)]
pub(crate) struct Remarks {
    said: HashSet<String>,
    due: Vec<String>,
}

impl Toolbox {
    /// Ends of sessions that no reply has contained yet. Each is announced once, unless the reply is lost.
    pub(crate) fn announcements(&self, except: Option<Number>, delivery: &Delivery) -> Vec<String> {
        let due = |held: &&Arc<LiveSession>| Some(held.number) != except && held.announce();
        let announce = |held: &Arc<LiveSession>| {
            held.session
                .receipt()
                .map(|receipt| format!("session {} {}", held.number, report::ending(&receipt)))
        };
        let mut due: Vec<Arc<LiveSession>> = self.lock().values().filter(due).cloned().collect();
        due.sort_by_key(|held| held.session.id());
        let mut announcements: Vec<String> = due.iter().filter_map(announce).collect();
        if !due.is_empty() {
            delivery.on_loss(move || due.iter().for_each(|held| held.take_announcement_back()));
        }
        announcements.extend(self.kept_announcements(delivery));
        announcements.extend(self.due_remarks(delivery));
        announcements
    }

    /// Sends this with the next reply.
    pub(crate) fn remark_now(&self, remark: String) {
        self.remarks().due.push(remark);
    }

    fn due_remarks(&self, delivery: &Delivery) -> Vec<String> {
        let due = std::mem::take(&mut self.remarks().due);
        if !due.is_empty() {
            let (toolbox, due) = (self.clone(), due.clone());
            delivery.on_loss(move || toolbox.remarks().due.extend(due));
        }
        due
    }

    /// Sends these with the next reply, unless they were sent before.
    pub(crate) fn remark<'a>(&self, remarks: impl Iterator<Item = &'a String>) {
        let mut known = self.remarks();
        for remark in remarks {
            if known.said.len() < MOST_REMARKS && known.said.insert(remark.clone()) {
                known.due.push(remark.clone());
            }
        }
    }
}
