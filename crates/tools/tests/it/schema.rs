//! What models are shown.

use crate::workbench::Workbench;
use serde_json::json;
use windlass_output::Tokenizer;

#[tokio::test]
async fn all_schemas_together_stay_under_two_thousand_tokens() {
    let bench = Workbench::new("schema-tokens");
    let mut total = 0;
    for tool in &bench.tools()[..6] {
        let shown = json!({"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema(), "outputSchema": tool.output_schema()});
        let tokens = Tokenizer::O200k.count(&shown.to_string()).get();
        println!("{:16} {tokens}", tool.name);
        total += tokens;
    }
    println!("{:16} {total}", "together");
    assert!(total < 2000, "{total}");
}
