//! Sessions as resources: their output, their screen, and their events.

use rmcp::model::{ErrorData, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;
use windlass_tools::{SessionSummary, Toolbox};

/// The prefix of all URIs.
const ROOT: &str = "windlass://session/";

/// A view of a session that a client can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    Transcript,
    Screen,
    Events,
}

const VIEWS: [View; 3] = [View::Transcript, View::Events, View::Screen];

impl View {
    fn name(self) -> &'static str {
        match self {
            Self::Transcript => "transcript",
            Self::Screen => "screen",
            Self::Events => "events",
        }
    }

    fn mime_type(self) -> &'static str {
        match self {
            Self::Transcript | Self::Screen => "text/plain",
            Self::Events => "application/json",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Transcript => "What the session printed, as text",
            Self::Screen => "What the session's terminal shows",
            Self::Events => "What happened to the session",
        }
    }

    fn read(self, toolbox: &Toolbox, session: &str) -> Option<String> {
        match self {
            Self::Transcript => toolbox.transcript(session),
            Self::Screen => toolbox.screen(session),
            Self::Events => toolbox.history(session).map(|history| history.to_string()),
        }
    }
}

/// All resources, session by session.
pub(super) fn all(toolbox: &Toolbox) -> Vec<Resource> {
    let sessions = toolbox.sessions();
    let has = |session: &SessionSummary, view| view != View::Screen || session.terminal;
    let views = |session| {
        VIEWS.into_iter().filter(move |view| has(session, *view)).map(move |view| resource(session, view))
    };
    sessions.iter().flat_map(views).collect()
}

fn resource(session: &SessionSummary, view: View) -> Resource {
    let SessionSummary { id, command, state, .. } = session;
    Resource::new(format!("{ROOT}{id}/{}", view.name()), format!("{id} {}", view.name()))
        .with_title(format!("{command}: {}", view.name()))
        .with_description(format!("{} ({state})", view.description()))
        .with_mime_type(view.mime_type())
}

/// The URI templates of the resources.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |view: View| {
        ResourceTemplate::new(format!("{ROOT}{{id}}/{}", view.name()), format!("session {}", view.name()))
            .with_description(view.description())
            .with_mime_type(view.mime_type())
    };
    VIEWS.map(template).into()
}

/// Reads a resource.
pub(super) fn read(toolbox: &Toolbox, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let (session, view) = parse(uri).ok_or_else(|| not_found(uri))?;
    let text = view.read(toolbox, session).ok_or_else(|| not_found(uri))?;
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(view.mime_type())]))
}

/// Fails unless the session of this URI exists.
pub(super) fn known(toolbox: &Toolbox, uri: &str) -> Result<(), ErrorData> {
    let session = parse(uri).map(|(session, _)| session);
    let exists = toolbox.sessions().iter().any(|known| Some(known.id.as_str()) == session);
    if exists { Ok(()) } else { Err(not_found(uri)) }
}

/// The session in a URI.
pub(super) fn session_of(uri: &str) -> Option<&str> {
    parse(uri).map(|(session, _)| session)
}

fn parse(uri: &str) -> Option<(&str, View)> {
    let (session, view) = uri.strip_prefix(ROOT)?.rsplit_once('/')?;
    let view = VIEWS.into_iter().find(|known| known.name() == view)?;
    (!session.is_empty() && !session.contains('/')).then_some((session, view))
}

fn not_found(uri: &str) -> ErrorData {
    ErrorData::resource_not_found("there is no such resource", Some(json!({ "uri": uri })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_session_and_a_view_of_it() {
        assert_eq!(parse("windlass://session/s1/transcript"), Some(("s1", View::Transcript)));
        assert_eq!(parse("windlass://session/s1/screen"), Some(("s1", View::Screen)));
        assert_eq!(parse("windlass://session/s1/events"), Some(("s1", View::Events)));
        for wrong in ["", "windlass://session/", "windlass://session//screen", "windlass://session/s1"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        for wrong in ["windlass://session/s1/other", "windlass://session/a/b/screen", "file:///s1/screen"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn templates_name_every_view() {
        let uris: Vec<_> = templates().into_iter().map(|template| template.uri_template).collect();
        let expected =
            ["transcript", "events", "screen"].map(|view| format!("windlass://session/{{id}}/{view}"));
        assert_eq!(uris, expected);
    }
}
