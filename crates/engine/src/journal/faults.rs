//! A disk that fails on purpose.
