//! Tests of the crate's public interface.
#![forbid(unsafe_code)]

#[path = "it/excerpt_laws.rs"]
mod excerpt_laws;
#[path = "it/fuzz_bodies.rs"]
mod fuzz_bodies;
#[path = "it/old_code_pages.rs"]
mod old_code_pages;
#[path = "it/screen_oracle.rs"]
mod screen_oracle;
#[path = "it/scroll_oracle.rs"]
mod scroll_oracle;
#[path = "it/settled_laws.rs"]
mod settled_laws;
#[path = "it/settled_samples.rs"]
mod settled_samples;
#[path = "it/span_laws.rs"]
mod span_laws;
#[path = "it/token_counts.rs"]
mod token_counts;
