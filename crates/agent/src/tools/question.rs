//! `request_user_input`: the model asks the user.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use windlass_llm::{Call, ToolSpec};

use super::ToolContext;
use crate::tool::{Output, Pace, Tool, ToolFuture, typed};
use crate::user_prompter::{UserPrompter, UserQuestion};

/// The most questions at once; more is an interrogation.
const MOST_QUESTIONS: usize = 10;

pub(super) struct RequestUserInput {
    prompter: Option<Arc<dyn UserPrompter>>,
}

#[derive(Deserialize)]
struct Arguments {
    questions: Vec<UserQuestion>,
}

impl RequestUserInput {
    pub(super) fn new(around: &ToolContext) -> Self {
        Self { prompter: around.deps.prompter.clone() }
    }
}

impl Tool for RequestUserInput {
    fn name(&self) -> &str {
        "request_user_input"
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec::Function {
            name: "request_user_input".into(),
            description: "Asks the user one to three short questions and waits for the answers. Only for what you cannot \
                          find out or decide yourself. Give two or three options; the user can always say something else."
                .into(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "questions": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "id": { "type": "string", "description": "names the answer" },
                                "header": { "type": "string", "description": "one or two words" },
                                "question": { "type": "string" },
                                "options": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "properties": {
                                            "label": { "type": "string" },
                                            "description": { "type": "string" }
                                        },
                                        "required": ["label"],
                                        "additionalProperties": false
                                    }
                                }
                            },
                            "required": ["id", "question"],
                            "additionalProperties": false
                        }
                    }
                },
                "required": ["questions"],
                "additionalProperties": false
            }),
        }
    }

    fn pace(&self, _call: &Call) -> Pace {
        Pace::Alone
    }

    fn call(&self, call: Call) -> ToolFuture {
        let prompter = self.prompter.clone();
        Box::pin(async move {
            let Arguments { questions } = match typed(&call) {
                Ok(arguments) => arguments,
                Err(refusal) => return refusal,
            };
            if questions.is_empty() || questions.len() > MOST_QUESTIONS {
                return Output::refused(format!(
                    "ask 1 to {MOST_QUESTIONS} questions, not {}",
                    questions.len()
                ));
            }
            let Some(prompter) = prompter else {
                return Output::refused("request_user_input is unavailable: nobody is there to answer");
            };
            match prompter.answer(questions).await {
                Some(answers) => {
                    let entry = |answer: crate::user_prompter::UserAnswer| {
                        (answer.id, json!({ "answers": [answer.text] }))
                    };
                    let answers: Map<String, Value> = answers.into_iter().map(entry).collect();
                    Output::json(&json!({ "answers": answers }))
                }
                None => Output::refused("request_user_input was cancelled before receiving a response"),
            }
        })
    }
}
