//! Looks at files for a model: a slice of one, the names in a directory, which ones hold a pattern, a picture. Changes
//! nothing, and whatever it answers is bounded.
#![forbid(unsafe_code)]
