//! The client's side of a server's requests and notifications, the same for every transport.
//!
//! Servers get only harmless things: the workspace's folders, and the user's own answers. Sampling is rejected.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use crate::deadlines::Open;
use crate::elicit::{Elicitation, ElicitationAnswer, Elicitor};
use crate::message::{REFUSED, RpcError};
use crate::notes::Notes;

/// Answers the requests of one server.
pub(crate) struct ClientHandler {
    pub(crate) server: String,
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) elicitor: Option<Arc<dyn Elicitor>>,
    pub(crate) notes: Arc<Notes>,
    /// Questions that the user is being asked.
    pub(crate) open: Open,
    /// Notified when the server reports that its list of tools changed.
    pub(crate) tools_changed: Notify,
}

impl ClientHandler {
    /// The capabilities that we declare to the server.
    pub(crate) fn capabilities(&self) -> Value {
        let mut capabilities = json!({ "roots": { "listChanged": false } });
        if self.elicitor.is_some() {
            capabilities["elicitation"] = json!({});
        }
        capabilities
    }

    /// Handles a notification. Progress and logging are ignored.
    pub(crate) fn hear(&self, method: &str) {
        if method == "notifications/tools/list_changed" {
            self.tools_changed.notify_one();
        }
    }

    /// Answers a request. An elicitation takes as long as the user does.
    pub(crate) async fn answer(&self, method: &str, params: &Map<String, Value>) -> Result<Value, RpcError> {
        match method {
            "ping" => Ok(json!({})),
            "roots/list" => {
                Ok(json!({ "roots": self.roots.iter().map(|root| named(root)).collect::<Vec<_>>() }))
            }
            "elicitation/create" => Ok(self.elicit(params).await.into_json()),
            "sampling/createMessage" => {
                Err(RpcError { code: REFUSED, message: "this client lends its model to nobody".to_owned() })
            }
            other => Err(RpcError::method_not_found(other)),
        }
    }

    async fn elicit(&self, params: &Map<String, Value>) -> ElicitationAnswer {
        let Some(elicitor) = &self.elicitor else {
            self.notes.add("it asked the person something, which was declined: nobody can be asked here");
            return ElicitationAnswer::Decline;
        };
        let text = |name: &str| params.get(name).and_then(Value::as_str).map(str::to_owned);
        let question = Elicitation {
            server: self.server.clone(),
            message: text("message").unwrap_or_default(),
            schema: params.get("requestedSchema").cloned().unwrap_or_else(|| json!({})),
            url: text("url"),
        };
        let _asking = self.open.ask();
        elicitor.elicit(question).await
    }
}

fn named(root: &Path) -> Value {
    let name = root.file_name().unwrap_or(root.as_os_str()).to_string_lossy();
    json!({ "uri": file_uri(root), "name": name })
}

/// The `file:` URI of a path. Bytes that a URI cannot contain are percent-encoded.
fn file_uri(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut uri = "file://".to_owned();
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handler() -> ClientHandler {
        let (roots, notes) = (vec!["/srv/a b".into()], Arc::default());
        let (open, tools_changed) = (Open::default(), Notify::new());
        ClientHandler { server: "s".into(), roots, elicitor: None, notes, open, tools_changed }
    }

    async fn check(method: &str, expected: Result<Value, i64>) {
        let answer = handler().answer(method, &Map::new()).await;
        assert_eq!(answer.map_err(|refusal| refusal.code), expected, "{method}");
    }

    #[tokio::test]
    async fn only_what_is_harmless_is_answered() {
        check("ping", Ok(json!({}))).await;
        check("roots/list", Ok(json!({ "roots": [{ "uri": "file:///srv/a%20b", "name": "a b" }] }))).await;
        check("elicitation/create", Ok(json!({ "action": "decline" }))).await;
        check("sampling/createMessage", Err(REFUSED)).await;
        check("tasks/get", Err(crate::message::METHOD_NOT_FOUND)).await;
    }

    #[test]
    fn questions_are_invited_only_where_somebody_can_be_asked() {
        assert_eq!(handler().capabilities(), json!({ "roots": { "listChanged": false } }));
    }
}
