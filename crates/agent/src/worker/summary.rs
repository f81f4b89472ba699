//! Compaction by the worker: asks the model for a summary and replaces the conversation by it.

use std::sync::{Arc, PoisonError};

use windlass_llm::{Failure, Item, Remedy, Request, ResponseEvent, Role, Usage};

use super::{Worker, pump};
use crate::compact::{PROMPT, replacement};
use crate::event::EventKind;
use crate::history::{History, HistoryEntry, ItemOrigin};
use crate::model_client::ModelClient;
use crate::turn::Happened;

/// The model's summary of a conversation.
pub(super) struct Summary {
    text: String,
    usage: Usage,
}

impl Worker {
    /// Asks for a summary, in a future that borrows nothing of the worker.
    pub(super) fn summary(&self) -> impl Future<Output = Result<Summary, Failure>> + Send + 'static {
        let prompt = self.deps.config.compact_prompt.clone().unwrap_or_else(|| PROMPT.to_owned());
        let request = Request {
            tools: [].into(),
            parallel_calls: false,
            output_schema: None,
            items: Vec::new(),
            ..self.request()
        };
        let asking = Asking {
            model_client: self.deps.model_client.clone(),
            request,
            entries: self.history.entries().to_vec(),
            prompt,
            most_tries: self.deps.config.most_tries,
        };
        asking.ask()
    }

    /// Replaces the conversation by its compacted form.
    pub(super) async fn summarised(&mut self, result: Result<Summary, Failure>) -> Happened {
        let summary = match result {
            Ok(summary) => summary,
            Err(failure) => return Happened::Compacted(Err(failure)),
        };
        self.completed(summary.usage);
        let before = self.filled;
        let new = replacement(self.history.entries(), &summary.text);
        let recorded = self.record.as_mut().map_or(Ok(()), |record| record.compacted(&new));
        self.recorded(recorded).await;
        self.filled = new.iter().map(HistoryEntry::estimate).sum();
        self.history.replace(new);
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = self.history.words();
        self.report.tell(EventKind::Compacted { before, after: self.filled }).await;
        Happened::Compacted(Ok(()))
    }
}

/// A request for a summary, with its retries.
struct Asking {
    model_client: Arc<dyn ModelClient>,
    request: Request,
    entries: Vec<HistoryEntry>,
    prompt: String,
    most_tries: u32,
}

impl Asking {
    async fn ask(mut self) -> Result<Summary, Failure> {
        let mut tries = 0;
        loop {
            let failure = match self.once().await {
                Ok(summary) => return Ok(summary),
                Err(failure) => failure,
            };
            match failure.remedy {
                Remedy::Shorten if self.drop_oldest() => continue,
                Remedy::Retry { .. } if tries < self.most_tries => tries += 1,
                _ => return Err(explained(&failure)),
            }
            // timer: the provider is given a moment before the next try.
            tokio::time::sleep(pump::delay(tries, &failure)).await;
        }
    }

    async fn once(&self) -> Result<Summary, Failure> {
        let history = History::restored(self.entries.clone());
        let mut request = self.request.clone();
        request.items = history.items();
        request.items.push(Item::user(self.prompt.clone()));
        let mut speech = self.model_client.ask(request).await?;
        let mut text = String::new();
        while let Some(event) = speech.next().await? {
            match event {
                ResponseEvent::Item(item) => text += &item.words_of(Role::Assistant).unwrap_or_default(),
                ResponseEvent::Completed(usage) if !text.trim().is_empty() => {
                    return Ok(Summary { text, usage });
                }
                ResponseEvent::Completed(_) => return Err(Failure::passing("the model wrote no summary")),
                _ => {}
            }
        }
        Err(Failure::passing("the stream ended before the summary was complete"))
    }

    /// Drops the oldest items, because even the request for a summary is too long.
    fn drop_oldest(&mut self) -> bool {
        let done = |entry: &HistoryEntry| {
            !matches!(entry.origin, ItemOrigin::Context | ItemOrigin::User | ItemOrigin::Summary)
        };
        let place = self.entries.iter().position(done);
        place.map(|place| self.entries.remove(place)).is_some()
    }
}

fn explained(failure: &Failure) -> Failure {
    Failure {
        remedy: failure.remedy,
        message: format!("the conversation is too long, and a summary could not be had: {failure}"),
    }
}
