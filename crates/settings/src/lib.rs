//! What people configure for the agent: configuration files in layers, projects that are trusted, instructions and skills
//! found on the way. Reads files it is pointed at, never the environment.
#![forbid(unsafe_code)]
