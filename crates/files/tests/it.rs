//! Tests the tools as an agent would call them. The name of each test states the expected behaviour.
#![forbid(unsafe_code)]

#[path = "it/arguments.rs"]
mod arguments;
#[path = "it/block.rs"]
mod block;
#[path = "it/grep_files.rs"]
mod grep_files;
#[path = "it/list_dir.rs"]
mod list_dir;
#[path = "it/place.rs"]
mod place;
#[path = "it/read_file.rs"]
mod read_file;
#[path = "it/schema.rs"]
mod schema;
#[path = "it/secrets.rs"]
mod secrets;
#[path = "it/view_image.rs"]
mod view_image;
