//! The members of a team, and how callers name them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::status::Status;
use crate::history::HistoryEntry;
use crate::thread::ThreadId;
use crate::worker::Op;

/// An agent, as its team sees it.
pub(super) struct Member {
    pub(super) id: ThreadId,
    pub(super) nickname: String,
    pub(super) role: Option<String>,
    pub(super) parent: Option<ThreadId>,
    pub(super) depth: u32,
    pub(super) task: String,
    pub(super) inbox: mpsc::Sender<Op>,
    pub(super) status: watch::Receiver<Status>,
    pub(super) closing: CancellationToken,
    pub(super) open: bool,
    /// The status that its parent has not read yet.
    pub(super) news: Option<Status>,
    /// The messages of its conversation, for sub-agents that are given them.
    pub(super) heard: Arc<Mutex<Vec<HistoryEntry>>>,
    /// How many messages it got that it does not work on yet.
    pub(super) unheard: Arc<AtomicUsize>,
    pub(super) life: Option<JoinHandle<()>>,
}

impl Member {
    pub(super) fn now(&self) -> Status {
        if !self.open {
            return Status::Shutdown;
        }
        let status = self.status.borrow().clone();
        let about_to_work = self.unheard.load(Ordering::SeqCst) > 0 && status != Status::PendingInit;
        if about_to_work { Status::Running } else { status }
    }

    /// Whether it will bring news by itself. An agent that was reopened without a message is open, but does nothing.
    pub(super) fn is_at_work(&self) -> bool {
        let told = self.unheard.load(Ordering::SeqCst) > 0;
        self.open && (told || *self.status.borrow() == Status::Running)
    }
}

/// The members, oldest first.
#[derive(Default)]
pub(super) struct Members(Vec<Member>);

impl Members {
    /// Adds a member. A closed one with the same id is replaced.
    pub(super) fn add(&mut self, member: Member) {
        self.0.retain(|old| old.id != member.id);
        self.0.push(member);
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Member> {
        self.0.iter()
    }

    pub(super) fn get(&self, id: &ThreadId) -> Option<&Member> {
        self.0.iter().find(|member| member.id == *id)
    }

    pub(super) fn get_mut(&mut self, id: &ThreadId) -> Option<&mut Member> {
        self.0.iter_mut().find(|member| member.id == *id)
    }

    pub(super) fn root(&self) -> Option<&ThreadId> {
        self.0.iter().find(|member| member.parent.is_none()).map(|member| &member.id)
    }

    pub(super) fn children(&self, parent: &ThreadId) -> impl Iterator<Item = &Member> {
        self.0.iter().filter(move |member| member.parent.as_ref() == Some(parent))
    }

    pub(super) fn open_children(&self) -> usize {
        self.0.iter().filter(|member| member.open && member.parent.is_some()).count()
    }

    pub(super) fn nicknames(&self) -> BTreeSet<String> {
        self.0.iter().map(|member| member.nickname.clone()).collect()
    }

    /// This agent and all below it.
    pub(super) fn descendants(&self, id: &ThreadId) -> Vec<ThreadId> {
        let mut found = vec![id.clone()];
        let mut next = 0;
        while let Some(parent) = found.get(next).cloned() {
            found.extend(self.children(&parent).map(|member| member.id.clone()));
            next += 1;
        }
        found
    }

    /// The nicknames from the root agent down, as in `/lead/Alder`.
    pub(super) fn path(&self, id: &ThreadId) -> String {
        let mut names = Vec::new();
        let mut at = Some(id);
        while let Some(member) = at.and_then(|id| self.get(id)) {
            names.push(member.nickname.as_str());
            at = member.parent.as_ref();
        }
        names.reverse();
        format!("/{}", names.join("/"))
    }

    pub(super) fn find(&self, asked: &str) -> Option<ThreadId> {
        let asked = asked.trim();
        let by_name = |member: &&Member| {
            member.nickname.eq_ignore_ascii_case(asked) || self.path(&member.id).eq_ignore_ascii_case(asked)
        };
        let by_id = self.0.iter().find(|member| member.id.as_str() == asked);
        by_id.or_else(|| self.0.iter().rev().find(by_name)).map(|member| member.id.clone())
    }

    pub(super) fn take_news(&mut self, parent: &ThreadId) -> Vec<(ThreadId, Status)> {
        let children = self.0.iter_mut().filter(|member| member.parent.as_ref() == Some(parent));
        children.filter_map(|member| Some((member.id.clone(), member.news.take()?))).collect()
    }

    pub(super) fn forget_news(&mut self, id: &ThreadId) {
        if let Some(member) = self.get_mut(id) {
            member.news = None;
        }
    }

    /// Closes these agents. Returns their tasks, for which the caller waits.
    pub(super) fn close(&mut self, ids: &[ThreadId]) -> Vec<JoinHandle<()>> {
        let mut lives = Vec::new();
        for member in self.0.iter_mut().filter(|member| ids.contains(&member.id)) {
            member.open = false;
            member.news = None;
            member.closing.cancel();
            lives.extend(member.life.take());
        }
        lives
    }
}
