//! The chat wire, held against data.
