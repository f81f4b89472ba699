//! The tools that read and search files. They see what commands may read, and nothing of other processes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value};
use windlass_files::{FileOutput, TOOLS, Tool as Looking};
use windlass_llm::{Call, ContentPart, ToolSpec};
use windlass_tools::Toolbox;

use super::ToolContext;
use super::permission::Grants;
use crate::tool::{Output, Tool, ToolFuture, arguments, shortened};

/// The tools. The one for images is only for models that accept them.
pub(super) fn tools(around: &ToolContext, grants: &Arc<Grants>) -> Vec<Arc<dyn Tool>> {
    let config = &around.deps.config;
    let made = |looking: &'static Looking| {
        Arc::new(Looker {
            looking,
            directory: config.directory.clone(),
            excludes: config.excludes.clone(),
            toolbox: around.toolbox.clone(),
            grants: Arc::clone(grants),
        }) as Arc<dyn Tool>
    };
    TOOLS.iter().filter(|tool| config.sees || tool.name != "view_image").map(made).collect()
}

#[derive(Clone)]
struct Looker {
    looking: &'static Looking,
    directory: PathBuf,
    excludes: Vec<PathBuf>,
    toolbox: Toolbox,
    grants: Arc<Grants>,
}

impl Tool for Looker {
    fn name(&self) -> &str {
        self.looking.name
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec::Function {
            name: self.looking.name.into(),
            description: self.looking.description.into(),
            parameters: (self.looking.parameters)(),
        }
    }

    fn about(&self, call: &Call) -> String {
        let arguments = arguments(call).unwrap_or_default();
        let named =
            ["file_path", "dir_path", "pattern", "path"].iter().find_map(|key| arguments.get(*key)?.as_str());
        shortened(named.unwrap_or(call.input.text()), 120)
    }

    fn call(&self, call: Call) -> ToolFuture {
        let looker = self.clone();
        Box::pin(async move {
            let arguments = match arguments(&call) {
                Ok(arguments) => arguments,
                Err(refusal) => return refusal,
            };
            let stop = StopOnDrop::default();
            let flag = Arc::clone(&stop.0);
            let looked = tokio::task::spawn_blocking(move || looker.look(arguments, &flag)).await;
            looked.unwrap_or_else(|error| Output::refused(format!("the tool failed: {error}")))
        })
    }
}

impl Looker {
    fn look(&self, arguments: Map<String, Value>, stop: &AtomicBool) -> Output {
        let reach = match self.toolbox.reach(&self.grants.policy()) {
            Ok(reach) => reach,
            Err(words) => return Output::refused(words),
        };
        let surroundings = windlass_files::FileContext {
            directory: &self.directory,
            may_read: &|path: &Path| reach.may_read(path),
            stop: &|| stop.load(Ordering::Relaxed),
            excludes: &self.excludes,
        };
        match (self.looking.call)(arguments, &surroundings) {
            Ok(FileOutput::Text(text)) => Output::text(text),
            Ok(FileOutput::Image { data_url, note }) => {
                Output::new(vec![ContentPart::Text(note), ContentPart::Image(data_url)], true)
            }
            Err(refusal) => Output::refused(refusal.to_string()),
        }
    }
}

/// Tells the blocking thread to stop when the future that waits for it is dropped.
#[derive(Default)]
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
