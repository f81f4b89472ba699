//! The operating system, made safe: the only room with `unsafe`.
