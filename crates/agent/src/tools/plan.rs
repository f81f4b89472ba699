//! `update_plan`: the model's plan of its work, for people to follow.

use serde::Deserialize;
use serde_json::json;
use windlass_llm::{Call, ToolSpec};

use crate::event::{EventKind, PlanStep, Reporter, StepState};
use crate::tool::{Output, Tool, ToolFuture, typed};

pub(super) struct UpdatePlan {
    report: Reporter,
}

#[derive(Deserialize)]
struct Arguments {
    #[serde(default, rename = "explanation")]
    _explanation: Option<String>,
    plan: Vec<StepArgument>,
}

#[derive(Deserialize)]
struct StepArgument {
    step: String,
    status: StepState,
}

impl UpdatePlan {
    pub(super) fn new(report: Reporter) -> Self {
        Self { report }
    }
}

impl Tool for UpdatePlan {
    fn name(&self) -> &str {
        "update_plan"
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec::Function {
            name: "update_plan".into(),
            description: "Shows the user the steps of the task and how far they are. For tasks of several steps; send the \
                          whole list each time, with at most one step in_progress."
                .into(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "explanation": { "type": "string" },
                    "plan": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "step": { "type": "string" },
                                "status": { "type": "string", "enum": ["pending", "in_progress", "completed"] }
                            },
                            "required": ["step", "status"],
                            "additionalProperties": false
                        }
                    }
                },
                "required": ["plan"],
                "additionalProperties": false
            }),
        }
    }

    fn call(&self, call: Call) -> ToolFuture {
        let report = self.report.clone();
        Box::pin(async move {
            let arguments: Arguments = match typed(&call) {
                Ok(arguments) => arguments,
                Err(refusal) => return refusal,
            };
            let under_way = arguments.plan.iter().filter(|step| step.status == StepState::InProgress).count();
            if under_way > 1 {
                return Output::refused(format!(
                    "{under_way} steps are in_progress; at most one may be. The plan is unchanged."
                ));
            }
            let steps =
                arguments.plan.into_iter().map(|step| PlanStep { text: step.step, state: step.status });
            report.tell(EventKind::Plan(steps.collect())).await;
            Output::text("Plan updated")
        })
    }
}
